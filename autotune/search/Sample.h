// autotune/search/Sample.h - what repeated measurements of one thing say.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace tessera::tune {

// Seconds, of measurements of one thing.
struct Sample {
  double median = 0;
  double spread = 0; // distance of the quartiles over the median

  bool operator==(const Sample &) const = default;
};
Sample sampleOf(std::vector<double> seconds); // at least one

// How many times as long one took as the other, of the turns that both had
// last. None where they had fewer than three.
std::optional<Sample> turnGain(const std::vector<double> &slow,
                               const std::vector<double> &fast);

} // namespace tessera::tune
