// trainer/data/SequenceValues.h - computes the values of attention.per_sequence
// for the sequences of a batch or of a prompt.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/SequenceSources.h"

#include <cstdint>
#include <vector>

namespace tessera::trainer {

struct Config;
struct TokenBatch;

/// Computes the values of attention.per_sequence for batches. They depend only
/// on the tokens, the seed and the window numbers.
class SequenceValues {
public:
  explicit SequenceValues(const Config &config);

  /// Appends the values for a batch of the windows with these numbers. For a
  /// value named `prefix` it also removes the targets inside of the prefix,
  /// because the loss of a prefix language model covers only the second part of
  /// a sequence (Raffel et al. 2020, section 3.2.1). It shortens a prefix that
  /// would leave no target.
  void addTo(TokenBatch &batch, const std::vector<int64_t> &windows) const;

private:
  std::vector<SequenceSource> sources;
  uint64_t seed;
};

/// Returns the values for a text that continues a prompt of `prompt` tokens,
/// one for each source. A source with a fixed number keeps it. Every other
/// source, and always `prefix`, gets `prompt`.
std::vector<int32_t> valuesOfPrompt(const std::vector<SequenceSource> &sources,
                                    int64_t prompt);

} // namespace tessera::trainer
