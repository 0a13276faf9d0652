// trainer/Peak.h - what the processor can do, as MFU's measure.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

namespace tessera::trainer {

struct Config;

/// Floating-point operations a second of a product of 512 x 512 matrices in
/// runtime.precision on all threads, the best of a few: takes about 30 ms. 0 on
/// devices other than this processor, whose rates are not known here.
double peakRate(const Config &config, c10::Device device);

} // namespace tessera::trainer
