// tests/helpers/CloseTensors.h - compares two torch tensors element by element.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/helpers/TensorError.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tessera {

// What differs between two tensors of the same sizes.
inline TensorError compareTensors(const at::Tensor &got, const at::Tensor &want,
                                  double limit) {
  const at::Tensor a = got.detach().to(at::kCPU, at::kDouble).contiguous(),
                   b = want.detach().to(at::kCPU, at::kDouble).contiguous();
  const double *x = a.const_data_ptr<double>(), *y = b.const_data_ptr<double>();
  return tensorError(
      a.numel(), a.dim() ? a.size(-1) : 1, [&](int64_t i) { return x[i]; },
      [&](int64_t i) { return y[i]; }, limit);
}

// Succeeds if the relative RMS error is at most `limit` and no single element
// is an outlier (support/Outliers.h).
inline testing::AssertionResult isClose(const at::Tensor &got,
                                        const at::Tensor &want, double limit) {
  if (got.sizes() != want.sizes())
    return testing::AssertionFailure()
           << "the sizes differ: " << got.sizes() << " and " << want.sizes();
  const TensorError error = compareTensors(got, want, limit);
  if (error.ok(limit))
    return testing::AssertionSuccess();
  auto result = testing::AssertionFailure()
                << "the relative RMS error is " << error.rms << ", the limit "
                << limit;
  if (error.first >= 0)
    result << "; " << error.outliers << " elements are outliers, the first at "
           << error.first << ": " << got.flatten()[error.first].item<double>()
           << " instead of " << want.flatten()[error.first].item<double>();
  return result;
}

} // namespace tessera
