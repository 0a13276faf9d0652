// trainer/data/SequenceValues.cpp - evaluates the sources of sequence values,
// and masks the targets inside of prefixes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/SequenceValues.h"

#include "trainer/data/TokenSource.h"
#include "trainer/loop/Random.h"
#include "trainer/settings/Config.h"

#include <algorithm>
#include <span>

namespace tessera::trainer {
namespace {

using Kind = SequenceSource::Kind;

/// Separates the random numbers of values from those of the window order.
constexpr uint64_t valueSeed = 0x7365715f76616c73;

/// One sequence of a batch.
struct Sequence {
  std::span<const int64_t> inputs;
  std::span<int64_t> targets;
  /// Number of its first token among the tokens of all windows.
  uint64_t number;

  /// Returns the longest prefix that leaves a target: the tokens up to the one
  /// with the last known target. 0 for padding.
  int64_t longestPrefix() const {
    const auto last = std::find_if(targets.rbegin(), targets.rend(),
                                   [](int64_t t) { return t != noTarget; });
    return targets.rend() - last;
  }
};

/// Returns the start of each sequence and the end of the last.
std::vector<int32_t> startsOf(const TokenBatch &batch, size_t length) {
  if (!batch.starts.empty())
    return batch.starts;
  std::vector<int32_t> starts;
  for (size_t at = 0; at <= batch.inputs.size(); at += length)
    starts.push_back(int32_t(at));
  return starts;
}

int64_t valueOf(const SequenceSource &source, const Sequence &s,
                uint64_t seed) {
  if (source.kind == Kind::Number)
    return source.number;
  if (source.kind == Kind::Uniform) {
    const int64_t most = s.longestPrefix();
    return most == 0 ? 0
                     : 1 + int64_t(randomBelow(seed, s.number, uint64_t(most)));
  }
  const auto found = std::find(s.inputs.begin(), s.inputs.end(), source.number);
  if (found == s.inputs.end())
    return 0;
  return found - s.inputs.begin() + (source.kind == Kind::Through);
}

/// Removes the targets that are tokens of the prefix. Returns the length of the
/// prefix, shortened to longestPrefix().
int64_t withoutLoss(const Sequence &s, int64_t prefix) {
  prefix = std::min(prefix, s.longestPrefix());
  // The target of token t is token t + 1.
  if (prefix > 1)
    std::fill_n(s.targets.begin(), prefix - 1, noTarget);
  return prefix;
}

} // namespace

SequenceValues::SequenceValues(const Config &config)
    : sources(readSequenceSources(config.perSequence)),
      seed(uint64_t(config.seed) ^ valueSeed) {}

void SequenceValues::addTo(TokenBatch &batch,
                           const std::vector<int64_t> &windows) const {
  if (sources.empty())
    return;
  const size_t length = batch.inputs.size() / windows.size();
  const std::vector<int32_t> starts = startsOf(batch, length);
  std::vector<Sequence> sequences;
  for (size_t i = 1; i < starts.size(); ++i) {
    const size_t first = size_t(starts[i - 1]);
    const size_t count = size_t(starts[i]) - first, row = first / length;
    sequences.push_back(
        {std::span(batch.inputs).subspan(first, count),
         std::span(batch.targets).subspan(first, count),
         uint64_t(windows[std::min(row, windows.size() - 1)]) * length +
             first % length});
  }
  for (size_t i = 0; i < sources.size(); ++i)
    for (const Sequence &s : sequences) {
      int64_t value = valueOf(sources[i], s, seed + i);
      if (sources[i].name == prefixName)
        value = withoutLoss(s, value);
      batch.perSequence.push_back(int32_t(value));
    }
}

std::vector<int32_t> valuesOfPrompt(const std::vector<SequenceSource> &sources,
                                    int64_t prompt) {
  std::vector<int32_t> values;
  for (const SequenceSource &s : sources)
    values.push_back(int32_t(
        s.kind == Kind::Number && s.name != prefixName ? s.number : prompt));
  return values;
}

} // namespace tessera::trainer
