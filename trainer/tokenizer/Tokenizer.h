// trainer/tokenizer/Tokenizer.h - encodes text as token ids and decodes them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/tokenizer/Vocabulary.h"
#include "trainer/tokenizer/WordSplitter.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::trainer {

/// Byte-level byte-pair encoding with GPT-2's pattern. Any bytes become tokens,
/// and these the same bytes again. One thread at a time.
class Tokenizer {
public:
  /// Throws tessera::Error where two merges are of the same pair.
  explicit Tokenizer(Vocabulary vocabulary);

  /// Appends the tokens of a whole text to `out`. No text becomes the token of
  /// the end.
  void encode(std::string_view text, std::vector<uint32_t> &out);
  std::vector<uint32_t> encode(std::string_view text);

  /// The bytes of a token. Throws tessera::Error for a number without bytes.
  const std::string &decode(int64_t token) const;

  int64_t size() const { return int64_t(words.tokens.size()); }
  int64_t endToken() const { return words.end; }
  /// "bpe-" and part of the hash of its tokens and merges.
  const std::string &name() const { return title; }
  const Vocabulary &vocabulary() const { return words; }

private:
  /// What a pair becomes; rank noMerge: nothing.
  struct Target {
    uint32_t rank, result;
  };
  static constexpr uint32_t noMerge = UINT32_MAX;
  Target find(uint32_t left, uint32_t right) const;
  void encodeWord(std::string_view word, std::vector<uint32_t> &out);
  void mergeShort(std::vector<uint32_t> &tokens) const;
  void mergeLong(std::vector<uint32_t> &tokens) const;

  Vocabulary words;
  std::string title;
  WordSplitter splitter;
  uint32_t ofByte[256] = {};
  /// Open addressing; a pair of two 0xffffffff is an empty place.
  struct Slot {
    uint64_t pair;
    Target target;
  };
  std::vector<Slot> slots;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// Words seen: few different ones make most of a text.
  std::unordered_map<std::string, std::vector<uint32_t>, Hash, std::equal_to<>>
      seen;
};

} // namespace tessera::trainer
