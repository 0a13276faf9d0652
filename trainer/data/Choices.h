// trainer/data/Choices.h - reads llm.c's files of multiple-choice examples.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/RandomFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

/// A context and its possible endings, of which one is right, in tokens.
struct MultipleChoice {
  std::vector<int64_t> context;
  std::vector<std::vector<int64_t>> endings;
  int64_t label = 0; ///< Index of the right ending.
};

/// A file as llm.c's dev/data/hellaswag.py writes it: 256 int32 of header
/// (20240522, 1, examples, bytes of the longest), then for each example uint16
/// numbers: 65535, its bytes, its number, the label, the number of endings, the
/// tokens of the context behind their number, and so those of each ending.
class ChoiceFile {
public:
  /// Throws tessera::Error for another format.
  explicit ChoiceFile(const std::string &path);

  int64_t size() const { return count; } ///< Examples.
  /// Reads the next example. Throws tessera::Error with its number if it is
  /// damaged.
  MultipleChoice next();

private:
  [[noreturn]] void damaged(const std::string &what) const;

  RandomFile file;
  int64_t count = 0, number = 0, offset = 0;
};

} // namespace tessera::trainer
