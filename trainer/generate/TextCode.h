// trainer/generate/TextCode.h - between text and the tokens of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/tokenizer/Tokenizer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// Text as the run's data has it: bytes, or the tokens of
/// data.tokenizer_path.
class TextCode {
public:
  /// Throws tessera::Error for a model of more tokens than bytes have without a
  /// tokenizer, and for a tokenizer of more tokens than the model has.
  explicit TextCode(const Config &config);

  std::vector<int64_t> encode(const std::string &text);
  /// Nothing: no text stands behind it.
  std::optional<std::string> decode(int64_t token) const;

private:
  std::unique_ptr<Tokenizer> tokenizer; ///< None: bytes.
};

} // namespace tessera::trainer
