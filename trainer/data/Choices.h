// trainer/data/Choices.h - reads llm.c's files of multiple-choice examples, for
// the HellaSwag evaluation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/RandomFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

/// A context and its possible endings, as tokens. One ending is right.
struct MultipleChoice {
  std::vector<int64_t> context;
  std::vector<std::vector<int64_t>> endings;
  int64_t label = 0; ///< Index of the right ending.
};

/// Reads a file that llm.c's dev/data/hellaswag.py wrote:
///
///   header    256 int32: 20240522, 1, examples, bytes of the longest, ...
///   example   uint16: 65535, its bytes, its number, label, number of endings
///             uint16: number of context tokens, then these tokens
///             for each ending, uint16: number of tokens, then these tokens
class ChoiceFile {
public:
  /// Throws tessera::Error if the file has another format.
  explicit ChoiceFile(const std::string &path);

  int64_t size() const { return count; } ///< Number of examples.
  /// Reads the next example. Throws tessera::Error with its number if it is
  /// damaged.
  MultipleChoice next();

private:
  [[noreturn]] void damaged(const std::string &what) const;

  RandomFile file;
  int64_t count = 0, number = 0, offset = 0;
};

} // namespace tessera::trainer
