// trainer/tokenizer/Tokenizer.cpp - merges the tokens of a word in the order of
// ranks; caches the tokens of short words.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer/Tokenizer.h"

#include "support/Error.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <queue>

namespace tessera::trainer {
namespace {

constexpr uint64_t noPair = UINT64_MAX;
/// Words of more bytes are merged with a priority queue. The search through all
/// pairs before each merge takes quadratic time.
constexpr size_t longest = 64;
constexpr size_t cachedWord = 32, cachedWords = size_t(1) << 18;

uint64_t pairOf(uint32_t left, uint32_t right) {
  return uint64_t(left) << 32 | right;
}

/// Returns the slot of a pair (Fibonacci hashing): the upper bits of the
/// product depend on all bits of the pair. `slots` is a power of two.
size_t placeOf(uint64_t pair, size_t slots) {
  return size_t(pair * 0x9e3779b97f4a7c15u >> (64 - std::countr_zero(slots)));
}

} // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : words(std::move(vocabulary)), title("bpe-" + words.hash().substr(0, 16)) {
  slots.assign(std::bit_ceil(words.merges.size() * 2 + 2), {noPair, {}});
  for (const Merge &m : words.merges) {
    const uint64_t pair = pairOf(m.left, m.right);
    size_t at = placeOf(pair, slots.size());
    while (slots[at].pair != noPair && slots[at].pair != pair)
      at = (at + 1) % slots.size();
    if (slots[at].pair == pair)
      throw Error(
          fmt::format("two merges of the tokens {} and {}", m.left, m.right),
          "the file of merges is damaged: leave one of the two");
    slots[at] = {pair, {m.rank, m.result}};
  }
  for (size_t i = 0; i < words.tokens.size(); ++i)
    if (words.tokens[i].size() == 1)
      ofByte[uint8_t(words.tokens[i][0])] = uint32_t(i);
}

Tokenizer::Target Tokenizer::find(uint32_t left, uint32_t right) const {
  const uint64_t pair = pairOf(left, right);
  for (size_t at = placeOf(pair, slots.size());;
       at = (at + 1) & (slots.size() - 1)) {
    if (slots[at].pair == pair)
      return slots[at].target;
    if (slots[at].pair == noPair)
      return {noMerge, 0};
  }
}

void Tokenizer::mergeShort(std::vector<uint32_t> &tokens) const {
  Target next[longest];
  for (size_t i = 0; i + 1 < tokens.size(); ++i)
    next[i] = find(tokens[i], tokens[i + 1]);
  while (tokens.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < tokens.size(); ++i)
      if (next[i].rank < next[best].rank)
        best = i;
    if (next[best].rank == noMerge)
      return;
    tokens[best] = next[best].result;
    tokens.erase(tokens.begin() + int64_t(best) + 1);
    std::copy(next + best + 1, next + tokens.size(), next + best);
    if (best + 1 < tokens.size())
      next[best] = find(tokens[best], tokens[best + 1]);
    if (best > 0)
      next[best - 1] = find(tokens[best - 1], tokens[best]);
  }
}

void Tokenizer::mergeLong(std::vector<uint32_t> &tokens) const {
  constexpr uint32_t none = UINT32_MAX;
  const size_t count = tokens.size();
  std::vector<uint32_t> before(count), behind(count);
  struct Candidate {
    uint32_t rank, at, left, right;
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](uint32_t at) {
    if (at == none || behind[at] == none)
      return;
    const uint32_t left = tokens[at], right = tokens[behind[at]];
    if (const Target t = find(left, right); t.rank != noMerge)
      queue.push({t.rank, at, left, right});
  };
  for (uint32_t i = 0; i < count; ++i) {
    before[i] = i == 0 ? none : i - 1;
    behind[i] = i + 1 == count ? none : i + 1;
  }
  for (uint32_t i = 0; i < count; ++i)
    offer(i);
  // Marks a token that was merged into its left neighbour. No merge has this
  // number.
  constexpr uint32_t gone = UINT32_MAX;
  while (!queue.empty()) {
    const Candidate c = queue.top();
    queue.pop();
    const uint32_t right = behind[c.at];
    // Skip a candidate if one of its tokens has changed since it was queued.
    if (tokens[c.at] != c.left || right == none || tokens[right] != c.right)
      continue;
    tokens[c.at] = find(c.left, c.right).result;
    tokens[right] = gone;
    behind[c.at] = behind[right];
    if (behind[right] != none)
      before[behind[right]] = c.at;
    offer(before[c.at]);
    offer(c.at);
  }
  std::erase(tokens, gone);
}

void Tokenizer::encodeWord(std::string_view word, std::vector<uint32_t> &out) {
  const bool keep = word.size() <= cachedWord;
  if (keep)
    if (const auto found = seen.find(word); found != seen.end()) {
      out.insert(out.end(), found->second.begin(), found->second.end());
      return;
    }
  std::vector<uint32_t> tokens;
  tokens.reserve(word.size());
  for (const char c : word)
    tokens.push_back(ofByte[uint8_t(c)]);
  if (tokens.size() <= longest)
    mergeShort(tokens);
  else
    mergeLong(tokens);
  out.insert(out.end(), tokens.begin(), tokens.end());
  if (!keep)
    return;
  if (seen.size() >= cachedWords)
    seen.clear();
  seen.emplace(word, std::move(tokens));
}

void Tokenizer::encode(std::string_view text, std::vector<uint32_t> &out) {
  while (!text.empty()) {
    const std::string_view word = splitter.first(text);
    encodeWord(word, out);
    text.remove_prefix(word.size());
  }
}

std::vector<uint32_t> Tokenizer::encode(std::string_view text) {
  std::vector<uint32_t> tokens;
  encode(text, tokens);
  return tokens;
}

const std::string &Tokenizer::decode(int64_t token) const {
  if (token < 0 || token >= size() || words.tokens[size_t(token)].empty())
    throw Error(fmt::format("{} is not a token of this tokenizer", token),
                "use the tokenizer that the data was prepared with");
  return words.tokens[size_t(token)];
}

} // namespace tessera::trainer
