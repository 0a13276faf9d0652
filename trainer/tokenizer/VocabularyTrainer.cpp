// trainer/tokenizer/VocabularyTrainer.cpp - counts pairs of adjacent tokens and
// updates the counts after each merge.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer/VocabularyTrainer.h"

#include "support/Error.h"

#include <algorithm>
#include <fmt/format.h>
#include <queue>
#include <set>

namespace tessera::trainer {
namespace {

using Pair = std::pair<uint32_t, uint32_t>;

struct PairHash {
  size_t operator()(const Pair &p) const {
    return (uint64_t(p.first) << 32 | p.second) * 0x9e3779b97f4a7c15u >> 16;
  }
};

/// Queue entry. The most frequent pair is the largest, then the lower pair.
struct Candidate {
  int64_t count;
  Pair pair;
  bool operator<(const Candidate &other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

struct Word {
  std::vector<uint32_t> tokens;
  int64_t count;
};

/// The words as tokens, and the number of occurrences of each adjacent pair.
class Pairs {
public:
  void add(Word word) {
    words.push_back(std::move(word));
    change(words.size() - 1, 1);
  }

  /// Returns the most frequent pair, or a count of 0 if there are no pairs.
  Candidate top() {
    for (; !queue.empty(); queue.pop()) {
      const Candidate c = queue.top();
      // An entry whose count differs is outdated. If the pair still occurs, the
      // queue has another entry with its present count.
      if (const auto found = counts.find(c.pair);
          found != counts.end() && found->second == c.count)
        return c;
    }
    return {0, {}};
  }

  /// Replaces the pair by `result` in all words, and updates the counts.
  void merge(const Pair &pair, uint32_t result) {
    const std::set<size_t> holders = std::move(where[pair]);
    where.erase(pair);
    changed.clear();
    for (const size_t word : holders) {
      change(word, -1);
      std::vector<uint32_t> &tokens = words[word].tokens;
      size_t to = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const bool both = i + 1 < tokens.size() && tokens[i] == pair.first &&
                          tokens[i + 1] == pair.second;
        tokens[to++] = both ? result : tokens[i];
        i += both;
      }
      tokens.resize(to);
      change(word, 1);
    }
    for (const Pair &p : changed)
      if (const auto found = counts.find(p); found->second > 0)
        queue.push({found->second, p});
      else
        counts.erase(found);
  }

  /// Fills the queue from the counts of add(). Call it before top().
  void begin() {
    for (const auto &[pair, count] : counts)
      queue.push({count, pair});
  }

private:
  /// Adds the pairs of a word to the counts, or subtracts them if `sign` is -1.
  void change(size_t word, int64_t sign) {
    const Word &w = words[word];
    for (size_t i = 0; i + 1 < w.tokens.size(); ++i) {
      const Pair pair{w.tokens[i], w.tokens[i + 1]};
      counts[pair] += sign * w.count;
      changed.insert(pair);
      if (sign > 0)
        where[pair].insert(word);
    }
  }

  std::vector<Word> words;
  std::unordered_map<Pair, int64_t, PairHash> counts;
  /// For each pair: indices of words that contain it, or contained it once.
  std::unordered_map<Pair, std::set<size_t>, PairHash> where;
  std::set<Pair> changed;
  std::priority_queue<Candidate> queue;
};

} // namespace

void VocabularyTrainer::add(std::string_view text) {
  while (!text.empty()) {
    const std::string_view word = splitter.first(text);
    ++counts[std::string(word)];
    text.remove_prefix(word.size());
  }
}

Vocabulary VocabularyTrainer::train(int64_t size) const {
  if (size < 257 || size > mostTokens)
    throw Error(fmt::format("a vocabulary of {} tokens cannot be made", size),
                fmt::format("from 257 (bytes and the end of a text) to {}",
                            mostTokens));
  Vocabulary result;
  std::unordered_map<std::string, uint32_t> numbers;
  const auto number = [&](const std::string &bytes) {
    const auto [at, added] =
        numbers.insert({bytes, uint32_t(result.tokens.size())});
    if (added)
      result.tokens.push_back(bytes);
    return at->second;
  };
  // GPT-2 numbers bytes in the order of their letters, printable bytes first.
  std::vector<std::string> letters;
  for (int byte = 0; byte < 256; ++byte)
    letters.push_back(lettersOf(std::string(1, char(byte))));
  std::sort(letters.begin(), letters.end());
  for (const std::string &letter : letters)
    number(bytesOf(letter));

  Pairs pairs;
  for (const auto &[text, count] : counts) {
    Word word{{}, count};
    for (const char c : text)
      word.tokens.push_back(numbers.at(std::string(1, c)));
    pairs.add(std::move(word));
  }
  pairs.begin();
  while (int64_t(result.tokens.size()) + 1 < size) {
    const Candidate best = pairs.top();
    if (best.count < 2)
      break;
    const auto [left, right] = best.pair;
    const uint32_t made = number(result.tokens[left] + result.tokens[right]);
    result.merges.push_back(
        {left, right, made, uint32_t(result.merges.size())});
    pairs.merge(best.pair, made);
  }
  result.end = int64_t(result.tokens.size());
  result.tokens.emplace_back(endOfText);
  return result;
}

} // namespace tessera::trainer
