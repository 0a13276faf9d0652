// trainer/optim/Schedule.h - the learning rate of each step, and messages about
// it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tessera::trainer {

struct Config;

/// Returns the learning rate of optimizer step `step` (0-based). The rate rises
/// linearly and reaches train.lr in the last warm-up step. Then it falls to
/// lr_final, which the step after the last one would have: along half a cosine,
/// along a line, or (wsd) as 1 - sqrt over the last decay_share of the steps.
/// The schedule `constant` keeps train.lr.
double learningRate(const Config &config, int64_t step);

/// Returns a line that reports a changed train.steps when a run resumes.
/// `earlier` has the settings of the first `step` steps (at least 1). The line
/// contains the learning rates of the last of these steps and of the next one.
std::string otherLengthLine(const Config &earlier, const Config &config,
                            int64_t step);

/// Returns a warning if the warm-up is longer than the run, else an empty
/// string.
std::string scheduleWarning(const Config &config);

} // namespace tessera::trainer
