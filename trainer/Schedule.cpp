// trainer/Schedule.cpp - linear warm-up, then cosine.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Schedule.h"

#include "trainer/Config.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera::trainer {

double learningRate(const Config &c, int64_t step) {
  if (step < c.warmup)
    return c.learningRate * double(step + 1) / double(c.warmup);
  const int64_t span = std::max<int64_t>(1, c.steps - c.warmup);
  const double done = std::min(1.0, double(step - c.warmup) / double(span));
  const double share = 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return c.finalLearningRate + (c.learningRate - c.finalLearningRate) * share;
}

} // namespace tessera::trainer
