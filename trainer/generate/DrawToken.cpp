// trainer/generate/DrawToken.cpp - applies temperature, top-k and top-p.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/DrawToken.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tessera::trainer {

int64_t drawToken(std::span<const float> logits,
                  const DrawTokenOptions &options, double unit) {
  const auto value = [&](size_t i) {
    return std::isfinite(logits[i]) ? double(logits[i])
                                    : -std::numeric_limits<double>::infinity();
  };
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return value(a) > value(b); });
  const double most = value(order[0]);
  if (options.temperature <= 0 || !std::isfinite(most))
    return std::isfinite(most) ? int64_t(order[0]) : 0;
  std::vector<double> share(order.size());
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i)
    sum += share[i] = std::exp((value(order[i]) - most) / options.temperature);
  size_t kept = options.topK > 0 ? std::min(order.size(), size_t(options.topK))
                                 : order.size();
  double keptSum = 0;
  for (size_t i = 0; i < kept; ++i) {
    keptSum += share[i];
    if (keptSum >= options.topP * sum)
      kept = i + 1;
  }
  double left = unit * keptSum;
  for (size_t i = 0; i < kept; ++i)
    if ((left -= share[i]) < 0)
      return int64_t(order[i]);
  return int64_t(order[kept - 1]);
}

} // namespace tessera::trainer
