// models/Rope.h - rotation frequencies of rotary position embeddings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::models {

/// How positions beyond the training length are mapped into its range.
enum class RopeScaling {
  Linear, ///< Every position is divided by the scale.
  Yarn,   ///< Scales slow pairs only (arXiv:2309.00071).
};

struct Rope {
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::Linear;
  double scale = 1.0; ///< Factor of the context length; 1: no scaling.
  /// For YaRN: the training length in tokens before scaling; 0: not given.
  int64_t originalLength = 0;
  /// YaRN keeps pairs that rotate more than `fast` times within originalLength
  /// and divides pairs that rotate less than `slow` times by the scale.
  double fast = 32.0, slow = 1.0;

  bool changed() const { return scale != 1.0; }
};

/// Returns the radians per token of each pair of `dim` channels, [dim / 2].
std::vector<double> ropeFrequencies(const Rope &rope, int64_t dim);

/// Returns the factor of queries and keys: 1, or for YaRN 0.1 ln(scale) + 1,
/// whose square scales the logits.
double ropeMagnitude(const Rope &rope);

} // namespace tessera::models
