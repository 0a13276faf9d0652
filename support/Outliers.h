// support/Outliers.h - the rule that finds single wrong elements of a result,
// which an RMS error over all elements hides.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera {

// docs/numerics.md, "Single elements", explains the rule.
// tests/helpers/outliers.py implements it for Python.
inline constexpr double outlierFactor = 6;

// Returns the largest allowed difference of an element from `want`. `size` is
// the larger one of two root mean squares: of the tensor and of the element's
// row. The RMS error of the tensor is at most `limit` times the tensor's.
inline double outlierBound(double want, double size, double limit) {
  return outlierFactor * limit * (size + std::fabs(want));
}

// True if the element is wrong. NaN and infinities are correct if `want` is the
// same.
inline bool isOutlier(double got, double want, double size, double limit) {
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(want) ? !std::isnan(got) : got != want;
  return !(std::fabs(got - want) <= outlierBound(want, size, limit));
}

// Returns the root mean square of the finite elements from `begin` to `end`.
template <typename Value>
double rmsOf(int64_t begin, int64_t end, Value value) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = begin; i < end; ++i)
    if (const double x = value(i); std::isfinite(x)) {
      sum += x * x;
      ++finite;
    }
  return std::sqrt(sum / double(std::max<int64_t>(finite, 1)));
}

} // namespace tessera
