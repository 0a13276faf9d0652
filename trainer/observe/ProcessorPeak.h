// trainer/observe/ProcessorPeak.h - measures the CPU's peak rate and computes
// MFU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <functional>

namespace tessera::trainer {

struct Config;

/// Floating-point operations a second of a product of 512 x 512 matrices in
/// runtime.precision on all threads, the best of a few: takes about 30 ms. 0 on
/// devices other than this processor, whose rates are not known here.
double peakRate(const Config &config, c10::Device device);

/// MFU. A machine that is busy while the peak is measured tells too little;
/// steps that are faster than the peak have it measured again, and the most
/// counts.
class Utilization {
public:
  /// peak(): floating-point operations a second, 0 where not known.
  explicit Utilization(std::function<double()> peak);
  /// The share, up to 1, of the peak that `rate` operations a second are. 0:
  /// not known, or still more than any measurement of the peak.
  double of(double rate);

private:
  std::function<double()> measure;
  double peak;
};

} // namespace tessera::trainer
