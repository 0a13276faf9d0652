// trainer/tokenizer/Tokenizer.h - encodes text as token ids and decodes them,
// for data preparation and generation.
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

/// Byte-level byte-pair encoding (BPE) with GPT-2's splitting pattern. It can
/// encode any bytes; decoding the tokens returns the same bytes. Not
/// thread-safe: encode() changes a cache.
class Tokenizer {
public:
  /// Throws tessera::Error if two merges have the same pair.
  explicit Tokenizer(Vocabulary vocabulary);

  /// Appends the tokens of a complete text to `out`. endToken() is never among
  /// them: the text "<|endoftext|>" becomes several ordinary tokens.
  void encode(std::string_view text, std::vector<uint32_t> &out);
  std::vector<uint32_t> encode(std::string_view text);

  /// Returns the bytes of a token. Throws tessera::Error if the vocabulary does
  /// not have this token.
  const std::string &decode(int64_t token) const;

  int64_t size() const { return int64_t(words.tokens.size()); }
  int64_t endToken() const { return words.end; }
  /// Returns "bpe-" and the first 16 digits of Vocabulary::hash().
  const std::string &name() const { return title; }
  const Vocabulary &vocabulary() const { return words; }

private:
  /// The merge of a pair: its rank and the resulting token. The rank is noMerge
  /// if the vocabulary does not merge the pair.
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
  uint32_t ofByte[256] = {}; ///< The token of each single byte.
  /// Slot of a hash table of merges with open addressing and linear probing. A
  /// slot is empty if all bits of its pair are set.
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
  /// Tokens of words encoded before. Few distinct words make up most of a text.
  std::unordered_map<std::string, std::vector<uint32_t>, Hash, std::equal_to<>>
      seen;
};

} // namespace tessera::trainer
