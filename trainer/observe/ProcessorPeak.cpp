// trainer/observe/ProcessorPeak.cpp - times a matrix product and compares steps
// with it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/ProcessorPeak.h"

#include "models/Linear.h"
#include "support/Options.h"
#include "trainer/optim/AdamW.h"

#include <ATen/ATen.h>
#include <chrono>

namespace tessera::trainer {

double peakRate(const Config &config, c10::Device device) {
  if (!device.is_cpu() || optionText(Option::Device) != "cpu")
    return 0;
  constexpr int64_t size = 512;
  constexpr int tries = 5;
  const at::NoGradGuard noGrad;
  const at::Tensor a = at::ones({size, size}, computeType(config.precision));
  models::product(a, a);
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    models::product(a, a);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    best = std::max(best, 2.0 * size * size * size / seconds);
  }
  return best;
}

Utilization::Utilization(std::function<double()> peak)
    : measure(std::move(peak)), peak(measure()) {}

double Utilization::of(double rate) {
  if (peak > 0 && rate > peak)
    peak = std::max(peak, measure());
  return rate <= peak && peak > 0 ? rate / peak : 0;
}

} // namespace tessera::trainer
