// trainer/observe/ProcessorPeak.h - measures the CPU's peak rate and computes
// the model FLOPs utilization (MFU) for the progress line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <functional>

namespace tessera::trainer {

struct Config;

/// Measures the rate of a product of 512 x 512 matrices in runtime.precision,
/// on all threads: floating-point operations per second, the best of five runs.
/// Takes about 30 ms. Returns 0 on other devices, whose peak is unknown.
double peakRate(const Config &config, c10::Device device);

/// Computes the MFU. A busy machine makes the measured peak too low. So if a
/// step is faster than the peak, the peak is measured again, and the maximum is
/// used.
class Utilization {
public:
  /// `peak` measures the peak rate in floating-point operations per second; 0
  /// if unknown.
  explicit Utilization(std::function<double()> peak);
  /// Returns `rate` (floating-point operations per second) divided by the peak.
  /// 0 if the peak is unknown or still lower than `rate`.
  double of(double rate);

private:
  std::function<double()> measure;
  double peak;
};

} // namespace tessera::trainer
