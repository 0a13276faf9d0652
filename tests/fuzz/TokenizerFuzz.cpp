// tests/fuzz/TokenizerFuzz.cpp - any bytes as a vocabulary, and as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/Fuzz.h"
#include "trainer/tokenizer/Tokenizer.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// A token for each byte, which follow the tokens of the input.
std::string allBytes(bool ranks) {
  std::string text = ranks ? "" : "{";
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
                              "opqrstuvwxyz0123456789+/";
    const std::string letter = lettersOf(std::string(1, char(byte)));
    if (ranks)
      text += std::string{digits[byte >> 2], digits[(byte & 3) << 4]} +
              "== " + std::to_string(byte) + "\n";
    else
      text += (letter == "\"" || letter == "\\" ? "\"\\" : "\"") + letter +
              "\": " + std::to_string(byte) + ",";
  }
  return text;
}

void check(const Vocabulary &vocabulary, const std::string &text) {
  fuzz::expectErrorsOnly([&] {
    const Vocabulary again =
        parseVocabulary(vocabularyText(vocabulary), mergesText(vocabulary),
                        "vocabulary", "merges");
    fuzz::require(again.tokens == vocabulary.tokens,
                  "tokens do not survive being written");
    Tokenizer tokenizer(vocabulary);
    std::string back;
    for (const uint32_t token : tokenizer.encode(text))
      back += tokenizer.decode(token);
    fuzz::require(back == text, "text does not come back from its tokens");
  });
}

} // namespace

// The first line is the vocabulary's, up to the first zero byte are merges or
// ranks, all of it is text.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string all = fuzz::text(data, size);
  const size_t line = std::min(all.find('\n'), all.size());
  const std::string first = all.substr(0, line),
                    rest = all.substr(std::min(line + 1, all.size()));
  const std::string merges = rest.substr(0, rest.find('\0'));
  fuzz::expectErrorsOnly([&] {
    check(parseVocabulary(allBytes(false) + first + "}", merges, "v", "m"),
          all);
  });
  fuzz::expectErrorsOnly([&] { parseVocabulary(all, merges, "v", "m"); });
  fuzz::expectErrorsOnly(
      [&] { check(parseRanks(allBytes(true) + rest, "r"), all); });
  fuzz::expectErrorsOnly([&] { parseRanks(all, "r"); });
  return 0;
}
