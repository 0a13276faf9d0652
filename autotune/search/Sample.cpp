// autotune/search/Sample.cpp - statistics of repeated measurements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Sample.h"

#include <algorithm>
#include <cstddef>

namespace tessera::tune {

Sample sampleOf(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    const double place = part * double(seconds.size() - 1);
    const size_t low = size_t(place);
    const size_t high = std::min(low + 1, seconds.size() - 1);
    return seconds[low] +
           (seconds[high] - seconds[low]) * (place - double(low));
  };
  Sample sample;
  sample.median = at(0.5);
  if (sample.median > 0)
    sample.spread = (at(0.75) - at(0.25)) / sample.median;
  return sample;
}

std::optional<Sample> turnGain(const std::vector<double> &slow,
                               const std::vector<double> &fast) {
  const size_t turns = std::min(slow.size(), fast.size());
  if (turns < 3)
    return std::nullopt;
  std::vector<double> gains;
  for (size_t i = 1; i <= turns; ++i)
    gains.push_back(slow[slow.size() - i] / fast[fast.size() - i]);
  return sampleOf(std::move(gains));
}

} // namespace tessera::tune
