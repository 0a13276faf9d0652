// trainer/generate/TextCode.cpp - converts text by bytes or by a tokenizer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/TextCode.h"

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <fmt/format.h>

namespace tessera::trainer {

TextCode::TextCode(const Config &config) {
  constexpr int64_t bytes = 257; // 256 bytes and the separator of documents
  const int64_t there = config.model.vocabulary;
  if (!config.tokenizerPath.empty())
    tokenizer =
        std::make_unique<Tokenizer>(readVocabulary(config.tokenizerPath));
  else if (there > bytes)
    throw Error(fmt::format("this model has {} tokens, of a tokenizer that "
                            "is not known here",
                            there),
                "data.tokenizer_path=PATH names the folder or file that the "
                "data was prepared with");
  if (tokenizer && tokenizer->size() > there)
    throw Error(fmt::format("the tokenizer {} has {} tokens, this model {}",
                            config.tokenizerPath, tokenizer->size(), there),
                "name the one that the data was prepared with");
}

std::vector<int64_t> TextCode::encode(const std::string &text) {
  std::vector<int64_t> tokens;
  if (tokenizer) {
    const std::vector<uint32_t> found = tokenizer->encode(text);
    tokens.assign(found.begin(), found.end());
  } else {
    for (const unsigned char c : text)
      tokens.push_back(c);
  }
  return tokens;
}

std::optional<std::string> TextCode::decode(int64_t token) const {
  if (tokenizer)
    return token == tokenizer->endToken() || token >= tokenizer->size()
               ? std::nullopt
               : std::optional(tokenizer->decode(token));
  if (token > 255)
    return std::nullopt;
  return std::string(1, char(token));
}

} // namespace tessera::trainer
