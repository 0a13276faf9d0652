// trainer/tokenizer/Vocabulary.h - tokens and merges of a byte-pair encoding;
// reads GPT-2's and tiktoken's files and writes GPT-2's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// A pair of adjacent tokens that the encoder replaces by one token. Within a
/// word it applies the merge of the lowest rank first.
struct Merge {
  uint32_t left = 0, right = 0, result = 0;
  uint32_t rank = 0;
};

struct Vocabulary {
  /// The bytes of each token, indexed by its number. Empty if no token has the
  /// number.
  std::vector<std::string> tokens;
  std::vector<Merge> merges;
  int64_t end = -1; ///< Number of the token "<|endoftext|>"; -1 without it.

  /// Returns the SHA-256 of tokens, merges and `end` in hexadecimal. Spelling
  /// and line order of vocab.json do not change it.
  std::string hash() const;
};

constexpr std::string_view endOfText = "<|endoftext|>";
/// Maximum number of tokens of a vocabulary.
constexpr int64_t mostTokens = int64_t(1) << 22;

/// Parses GPT-2's two files: a JSON object of tokens and numbers (vocab.json,
/// encoder.json), and one line for each merge (merges.txt, vocab.bpe). Error
/// messages name the two places. Throws tessera::Error for another format, a
/// token or number that occurs twice, a merge of unknown tokens, and a byte
/// without a token.
Vocabulary parseVocabulary(std::string_view vocabulary, std::string_view merges,
                           const std::string &vocabularyPlace,
                           const std::string &mergesPlace);

/// Parses tiktoken's file: a line for each token with its bytes in base64 and
/// its number, which is also the rank of all merges that produce the token.
/// Appends "<|endoftext|>" after the last token if the file does not have it.
/// Throws tessera::Error as parseVocabulary() does.
Vocabulary parseRanks(std::string_view text, const std::string &place);

/// Reads a folder with GPT-2's two files (either of their names), or tiktoken's
/// file. Throws tessera::Error as the parsers do.
Vocabulary readVocabulary(const std::string &path);

/// Return GPT-2's two files in the formats that parseVocabulary() reads.
std::string vocabularyText(const Vocabulary &vocabulary);
std::string mergesText(const Vocabulary &vocabulary);

/// Convert between bytes and GPT-2's letters, in UTF-8. A printable byte is the
/// character of that number; the other 68 bytes are U+0100 to U+0143.
/// bytesOf() throws tessera::Error for any other letter.
std::string lettersOf(std::string_view bytes);
std::string bytesOf(std::string_view letters);

} // namespace tessera::trainer
