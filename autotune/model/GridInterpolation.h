// autotune/model/GridInterpolation.h - estimates a quantity of every block of a
// grid from a few sampled blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Profile.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::tune {

// Estimates a quantity (cycles, sectors) of each block of the grid from the
// sampled blocks: the product of one factor per axis, each relative to the
// middle block and linear between samples. Where lists of tokens decide what a
// block does, the middle block may do less than most, and the estimate of all
// others would be too large. So the middle counts at least as the median.
class GridInterpolation {
public:
  // `values`: the quantity of each sample, the middle block's first.
  GridInterpolation(const LaunchProfile &profile, std::vector<double> values)
      : grid(profile.grid), middle(std::max(values[0], medianOf(values))) {
    values[0] = middle;
    for (size_t axis = 0; axis < 3; ++axis) {
      std::vector<std::pair<double, double>> known;
      for (size_t i = 0; i < values.size(); ++i)
        if (onAxis(profile.samples, i, axis))
          known.emplace_back(profile.samples[i].at[axis],
                             middle > 0 ? values[i] / middle : 1);
      std::sort(known.begin(), known.end());
      // A long axis is interpolated at this many points.
      const uint32_t count = std::min(grid[axis], mostPoints);
      for (uint32_t k = 0; k < count; ++k)
        factors[axis].push_back(between(known, (k + 0.5) / count));
    }
  }

  double operator()(uint64_t block) const {
    const uint64_t x = block % grid[0], rest = block / grid[0];
    return middle * factor(0, x) * factor(1, rest % grid[1]) *
           factor(2, rest / grid[1]);
  }

  double sum() const {
    double product = middle;
    for (size_t axis = 0; axis < 3; ++axis) {
      double all = 0;
      for (double one : factors[axis])
        all += one;
      product *= all * grid[axis] / double(factors[axis].size());
    }
    return product;
  }

private:
  static constexpr uint32_t mostPoints = 1 << 14;

  static double medianOf(std::vector<double> values) {
    const auto half = values.begin() + long(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    return *half;
  }

  double factor(size_t axis, uint64_t at) const {
    const std::vector<double> &points = factors[axis];
    return points.size() == grid[axis]
               ? points[at]
               : points[at * points.size() / grid[axis]];
  }

  static bool onAxis(const std::vector<LaunchProfile::Sample> &samples,
                     size_t i, size_t axis) {
    for (size_t other = 0; other < 3; ++other)
      if (other != axis && samples[i].at[other] != samples[0].at[other])
        return false;
    return true;
  }

  static double between(const std::vector<std::pair<double, double>> &known,
                        double at) {
    const auto above = std::lower_bound(
        known.begin(), known.end(), at,
        [](const auto &one, double value) { return one.first < value; });
    if (above == known.begin())
      return known.front().second;
    if (above == known.end())
      return known.back().second;
    const auto below = above - 1;
    const double part = (at - below->first) / (above->first - below->first);
    return below->second + part * (above->second - below->second);
  }

  const Grid grid;
  const double middle;
  std::array<std::vector<double>, 3> factors;
};

} // namespace tessera::tune
