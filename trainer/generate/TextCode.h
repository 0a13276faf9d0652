// trainer/generate/TextCode.h - converts between text and the tokens of a run,
// for generated text.
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

/// Encodes text as the run's data is encoded: one token for each byte, or the
/// tokens of data.tokenizer_path.
class TextCode {
public:
  /// Throws tessera::Error if the model has more than the 257 tokens of bytes
  /// but the run names no tokenizer, or if the tokenizer has more tokens than
  /// the model.
  explicit TextCode(const Config &config);

  std::vector<int64_t> encode(const std::string &text);
  /// Returns nullopt for a token without text, such as the separator of
  /// documents.
  std::optional<std::string> decode(int64_t token) const;

private:
  std::unique_ptr<Tokenizer> tokenizer; ///< Null: tokens are bytes.
};

} // namespace tessera::trainer
