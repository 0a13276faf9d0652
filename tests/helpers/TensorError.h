// tests/helpers/TensorError.h - compares the elements of two tensors
// (support/Outliers.h).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Outliers.h"

namespace tessera {

// What two tensors differ by.
struct TensorError {
  double rms = 0;     // over the finite elements, relative
  int64_t first = -1; // the first outlier; -1: none
  int64_t outliers = 0;

  bool ok(double limit) const { return first < 0 && rms <= limit; }
};

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
