// trainer/optim/Schedule.cpp - linear warm-up, then the decay that
// train.lr_schedule selects.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/Schedule.h"

#include "trainer/settings/Config.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace tessera::trainer {
namespace {

/// Returns 1 at train.lr, 0 at lr_final, and values between them during the
/// decay. `done` (0 to 1) is the share of the steps after the warm-up that is
/// complete.
double shareLeft(const Config &c, int64_t step, double done) {
  switch (c.schedule) {
  case LearningRateSchedule::Cosine:
    return 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  case LearningRateSchedule::Linear:
    return 1.0 - done;
  case LearningRateSchedule::Constant:
    return 1.0;
  case LearningRateSchedule::WarmupStableDecay:
    break;
  }
  const double decay = c.decayShare * double(c.steps);
  const double begun = double(step) - (double(c.steps) - decay);
  if (begun <= 0)
    return 1.0;
  return 1.0 - std::sqrt(std::min(1.0, begun / decay));
}

} // namespace

double learningRate(const Config &c, int64_t step) {
  if (step < c.warmup)
    return c.learningRate * double(step + 1) / double(c.warmup);
  const int64_t span = std::max<int64_t>(1, c.steps - c.warmup);
  const double done = std::min(1.0, double(step - c.warmup) / double(span));
  const double share = shareLeft(c, step, done);
  return c.finalLearningRate + (c.learningRate - c.finalLearningRate) * share;
}

std::string otherLengthLine(const Config &earlier, const Config &config,
                            int64_t step) {
  return fmt::format("train.steps {} -> {}: the learning rate of each step "
                     "from here on is that of a run of {} steps: {:g} in step "
                     "{}, after {:g} in step {}",
                     earlier.steps, config.steps, config.steps,
                     learningRate(config, step), step + 1,
                     learningRate(earlier, step - 1), step);
}

std::string scheduleWarning(const Config &c) {
  if (c.warmup <= c.steps)
    return "";
  return fmt::format("WARNING: train.warmup_steps is {}, train.steps {}: the "
                     "learning rate ends at {:.0f}% of train.lr; "
                     "train.warmup_steps={} is a tenth of the run",
                     c.warmup, c.steps,
                     100.0 * double(c.steps) / double(c.warmup), c.steps / 10);
}

} // namespace tessera::trainer
