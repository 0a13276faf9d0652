// trainer/tokenizer/VocabularyTrainer.h - learns a vocabulary from text.
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

/// Learns merges: again and again the pair of tokens that is most frequent in
/// the words becomes a token; of equally frequent ones that of the lower
/// numbers. Memory grows with the different words of the text.
class VocabularyTrainer {
public:
  void add(std::string_view text);
  int64_t differentWords() const { return int64_t(counts.size()); }

  /// The 256 bytes (in GPT-2's order), merges until there are `size` tokens,
  /// or no pair occurs twice, and endOfText, the last. Throws tessera::Error
  /// for a size below 257 or above mostTokens.
  Vocabulary train(int64_t size) const;

private:
  WordSplitter splitter;
  std::unordered_map<std::string, int64_t> counts;
};

} // namespace tessera::trainer
