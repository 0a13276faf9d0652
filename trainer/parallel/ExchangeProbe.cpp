// trainer/parallel/ExchangeProbe.cpp - times the all-reduce of one bucket.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/ExchangeProbe.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace tessera::trainer {

std::string exchangeLine(double sent, double seconds, double sentInAll,
                         int64_t processes) {
  // In a ring all-reduce, each process sends and receives every byte
  // 2 (n - 1) / n times. So this is the rate of the slowest link.
  const double link =
      sent * 2 * double(processes - 1) / double(processes) / seconds;
  return fmt::format(
      "exchange: {:.1f} MB of gradients meet in {:.2f} ms, {:.2f} "
      "GB/s of a link; those of a step are {:.1f} MB, {:.1f} ms "
      "during the backward pass",
      sent / 1e6, seconds * 1e3, link / 1e9, sentInAll / 1e6,
      sentInAll / sent * seconds * 1e3);
}

void sayExchangeRate(DataParallel &parallel, const Config &config,
                     int64_t gradients, c10::Device device, const Say &say) {
  if (parallel.size() == 1)
    return;
  using Clock = std::chrono::steady_clock;
  const int64_t count = std::clamp<int64_t>(
      int64_t(config.bucketMegabytes * 1e6) / 4, 1, gradients);
  const at::Tensor bucket =
      at::zeros({count}, at::TensorOptions(device).dtype(at::kFloat));
  double least = 1e30;
  for (int i = 0; i < 4; ++i) {
    parallel.wait();
    const Clock::time_point start = Clock::now();
    parallel.beginAverage(bucket);
    parallel.finishAverages();
    bucket[0].item<float>(); // the host waits for the GPU's stream only here
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (i > 0) // the first all-reduce opens connections
      least = std::min(least, seconds);
  }
  const double bytes = config.wire == Precision::Fp32 ? 4 : 2;
  say(exchangeLine(double(count) * bytes, least, double(gradients) * bytes,
                   parallel.size()));
}

} // namespace tessera::trainer
