// models/Rope.cpp - computes RoPE's frequencies, unscaled or scaled (linear,
// YaRN).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera::models {
namespace {

/// Returns the (fractional) index of the pair that rotates `turns` times within
/// originalLength tokens.
double pairOfTurns(const Rope &rope, double dim, double turns) {
  return dim *
         std::log(double(rope.originalLength) /
                  (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rope.base));
}

} // namespace

std::vector<double> ropeFrequencies(const Rope &rope, int64_t dim) {
  std::vector<double> result;
  // The bounds are rounded outwards and kept distinct, as in the published
  // YaRN code.
  const double low =
      std::max(0.0, std::floor(pairOfTurns(rope, double(dim), rope.fast)));
  double high = std::min(double(dim) - 1,
                         std::ceil(pairOfTurns(rope, double(dim), rope.slow)));
  // If every pair rotates fast, no pair is divided.
  if (high <= low)
    high = low + 0.001;
  for (int64_t pair = 0; pair < dim / 2; ++pair) {
    const double own = std::pow(rope.base, 2.0 * double(pair) / -double(dim));
    double divided = 1;
    if (rope.changed() && rope.scaling == RopeScaling::Yarn)
      divided = std::clamp((double(pair) - low) / (high - low), 0.0, 1.0);
    result.push_back(own / rope.scale * divided + own * (1 - divided));
  }
  return result;
}

double ropeMagnitude(const Rope &rope) {
  if (rope.scaling == RopeScaling::Linear || rope.scale <= 1)
    return 1;
  return 0.1 * std::log(rope.scale) + 1;
}

} // namespace tessera::models
