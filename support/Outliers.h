// support/Outliers.h - the rule that finds single wrong elements of a result,
// which an RMS error over all elements hides.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera {

// docs/numerics.md, "Single elements", says why. tests/helpers/outliers.py has
// the same rule for Python.
inline constexpr double outlierFactor = 6;

// The largest difference from `want` of an element. `size` is the larger one of
// the root mean squares of the tensor and of the element's row; the RMS error
// of the tensor is at most `limit` times the former.
inline double outlierBound(double want, double size, double limit) {
  return outlierFactor * limit * (size + std::fabs(want));
}

// True if the element is wrong. NaN and infinities are right where `want` is
// the same.
inline bool isOutlier(double got, double want, double size, double limit) {
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(want) ? !std::isnan(got) : got != want;
  return !(std::fabs(got - want) <= outlierBound(want, size, limit));
}

// What two tensors differ by.
struct TensorError {
  double rms = 0;     // over the finite elements, relative
  int64_t first = -1; // the first outlier; -1: none
  int64_t outliers = 0;

  bool ok(double limit) const { return first < 0 && rms <= limit; }
};

// Root mean square of the finite elements from `begin` to `end`.
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

// Compares `count` elements, `row` of them in each row, which `got` and `want`
// return by number. `floor` is the least RMS that counts as that of `want`;
// where both are 0, differences are absolute.
template <typename Got, typename Want>
TensorError tensorError(int64_t count, int64_t row, Got got, Want want,
                        double limit, double floor = 0) {
  double size = std::max(rmsOf(0, count, want), floor);
  if (size == 0)
    size = 1;
  const auto difference = [&](int64_t i) { return got(i) - want(i); };
  TensorError error;
  error.rms = rmsOf(0, count, difference) / size;
  row = std::max<int64_t>(row, 1);
  for (int64_t begin = 0; begin < count; begin += row) {
    const int64_t end = std::min(begin + row, count);
    const double rowSize = std::max(size, rmsOf(begin, end, want));
    for (int64_t i = begin; i < end; ++i)
      if (isOutlier(got(i), want(i), rowSize, limit) && error.outliers++ == 0)
        error.first = i;
  }
  return error;
}

} // namespace tessera
