// trainer/data/SequenceValues.h - the values of the sequences of a batch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/SequenceSources.h"

#include <cstdint>
#include <vector>

namespace tessera::trainer {

struct Config;
struct TokenBatch;

/// Gives batches the values of attention.per_sequence. They depend on the
/// tokens, the seed and the numbers of the windows alone.
class SequenceValues {
public:
  explicit SequenceValues(const Config &config);

  /// Sets the values of a batch of windows with these numbers. Of a value named
  /// `prefix` it also removes the targets inside of the prefix, as the loss of
  /// a prefix language model counts the second part of a sequence alone (Raffel
  /// et al. 2020, section 3.2.1), and shortens a prefix that leaves no target.
  void addTo(TokenBatch &batch, const std::vector<int64_t> &windows) const;

private:
  std::vector<SequenceSource> sources;
  uint64_t seed;
};

/// Returns the values of a text that continues a prompt of `prompt` tokens, one
/// for each source: a number stays, every other source and the prefix are the
/// tokens of the prompt.
std::vector<int32_t> valuesOfPrompt(const std::vector<SequenceSource> &sources,
                                    int64_t prompt);

} // namespace tessera::trainer
