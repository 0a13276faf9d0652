// autotune/search/Sample.h - statistics of repeated measurements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace tessera::tune {

// Statistics of repeated measurements, in seconds.
struct Sample {
  double median = 0;
  double spread = 0; // interquartile range over the median

  bool operator==(const Sample &) const = default;
};
Sample sampleOf(std::vector<double> seconds); // at least one

// Returns the ratio slow / fast over pairs of the last measurements of both, or
// nullopt if one has fewer than three. The lists must end with the same round.
std::optional<Sample> turnGain(const std::vector<double> &slow,
                               const std::vector<double> &fast);

} // namespace tessera::tune
