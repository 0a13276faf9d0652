// models/Rope.cpp - frequencies of rotary positions, scaled ones too.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera::models {
namespace {

/// The pair, not a whole number, that makes so many turns within `length`.
double pairOfTurns(const Rope &rope, double dim, double turns) {
  return dim *
         std::log(double(rope.originalLength) /
                  (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rope.base));
}

} // namespace

std::vector<double> ropeFrequencies(const Rope &rope, int64_t dim) {
  std::vector<double> result;
  // Rounded outwards and never equal, as the published programs do.
  const double low =
      std::max(0.0, std::floor(pairOfTurns(rope, double(dim), rope.fast)));
  double high = std::min(double(dim) - 1,
                         std::ceil(pairOfTurns(rope, double(dim), rope.slow)));
  // Where every pair turns fast, none is divided.
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
