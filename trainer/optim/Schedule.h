// trainer/optim/Schedule.h - the learning rate of a step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tessera::trainer {

struct Config;

/// Rate of optimizer step `step` (0-based): linear over the warm-up, where the
/// last of its steps has the full rate, then down to lr_final, which a step
/// after the last one would have: along half a cosine, along a line, or (wsd)
/// as 1 - sqrt over the last decay_share of the steps; `constant` stays.
double learningRate(const Config &config, int64_t step);

/// A line on what other train.steps mean for a run that has made `step` (at
/// least 1) with the settings `earlier`: the rates of that step and the next.
std::string otherLengthLine(const Config &earlier, const Config &config,
                            int64_t step);

/// A line for a warm-up that is longer than the run; else empty.
std::string scheduleWarning(const Config &config);

} // namespace tessera::trainer
