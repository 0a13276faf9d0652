// models/Rope.h - by how much rotary positions turn a pair of channels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::models {

/// How positions beyond those of the training are brought into its range.
enum class RopeScaling {
  Linear, ///< Every position is divided by the scale.
  Yarn,   ///< Slow pairs as linear, fast ones not at all (arXiv:2309.00071).
};

struct Rope {
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::Linear;
  double scale = 1.0; ///< Of the length; 1: positions are as they are.
  /// Of YaRN. Tokens of the training before it; 0: not given.
  int64_t originalLength = 0;
  /// Pairs that turn more often than `fast` within it are left alone, those
  /// that turn less often than `slow` are divided.
  double fast = 32.0, slow = 1.0;

  bool changed() const { return scale != 1.0; }
};

/// Radians by token of each pair of `dim` channels, [dim / 2].
std::vector<double> ropeFrequencies(const Rope &rope, int64_t dim);

/// What queries and keys are multiplied by besides: 1, or, of YaRN,
/// 0.1 ln(scale) + 1, so that logits get its square.
double ropeMagnitude(const Rope &rope);

} // namespace tessera::models
