// trainer/Schedule.h - the learning rate of a step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::trainer {

struct Config;

/// Rate of optimizer step `step` (0-based): linear over the warm-up, where the
/// last of its steps has the full rate, then half a cosine down to lr_final,
/// which a step after the last one would have.
double learningRate(const Config &config, int64_t step);

} // namespace tessera::trainer
