// trainer/tokenizer/Vocabulary.h - tokens and merges of a byte-pair encoding,
// read from GPT-2's and tiktoken's files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// A pair of tokens that becomes one; the pair of the lowest rank goes first.
struct Merge {
  uint32_t left = 0, right = 0, result = 0;
  uint32_t rank = 0;
};

struct Vocabulary {
  /// The bytes of every token, by number; empty: the number stands for none.
  std::vector<std::string> tokens;
  std::vector<Merge> merges;
  int64_t end = -1; ///< "<|endoftext|>"; -1: there is none.

  /// SHA-256 of all of it: two files that mean the same give the same.
  std::string hash() const;
};

constexpr std::string_view endOfText = "<|endoftext|>";
/// Tokens that a vocabulary may have.
constexpr int64_t mostTokens = int64_t(1) << 22;

/// GPT-2's two files: a JSON object of tokens and numbers (vocab.json,
/// encoder.json), and a line for each merge (merges.txt, vocab.bpe). `place`
/// stands in messages. Throws tessera::Error with place and line for what is
/// none of these, tokens given twice, merges of tokens that there are not, and
/// a byte without a token.
Vocabulary parseVocabulary(std::string_view vocabulary, std::string_view merges,
                           const std::string &vocabularyPlace,
                           const std::string &mergesPlace);

/// tiktoken's file: a line for each token, its bytes in base64 and its number,
/// which is also the rank of the pairs that make it. "<|endoftext|>" follows
/// behind the last. Throws tessera::Error as above.
Vocabulary parseRanks(std::string_view text, const std::string &place);

/// Reads a folder that holds GPT-2's two files under either name, or a file of
/// ranks. Throws tessera::Error.
Vocabulary readVocabulary(const std::string &path);

/// The two files, as parseVocabulary() reads them.
std::string vocabularyText(const Vocabulary &vocabulary);
std::string mergesText(const Vocabulary &vocabulary);

/// GPT-2's letters for bytes: a byte that can be printed is itself, the others
/// are letters from U+0100 on. And back; throws tessera::Error for a letter
/// that stands for no byte.
std::string lettersOf(std::string_view bytes);
std::string bytesOf(std::string_view letters);

} // namespace tessera::trainer
