// trainer/tokenizer/VocabularyTrainer.h - learns a BPE vocabulary from text,
// for `tessera data tokenizer`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/tokenizer/Vocabulary.h"
#include "trainer/tokenizer/WordSplitter.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tessera::trainer {

/// Learns merges: repeatedly makes a token of the most frequent pair of
/// adjacent tokens within words. Of equally frequent pairs, it takes the one
/// with the lower numbers. Memory grows with the number of distinct words.
class VocabularyTrainer {
public:
  /// Counts the words of a text.
  void add(std::string_view text);
  int64_t differentWords() const { return int64_t(counts.size()); }

  /// Returns a vocabulary of at most `size` tokens: the 256 bytes in GPT-2's
  /// order, the results of merges, and endOfText as the last. Has fewer
  /// tokens if no pair occurs twice any more. Throws tessera::Error for a size
  /// below 257 or above mostTokens.
  Vocabulary train(int64_t size) const;

private:
  WordSplitter splitter;
  std::unordered_map<std::string, int64_t> counts;
};

} // namespace tessera::trainer
