// ops/attention/Shares.cpp - gradients of which several programs compute
// partial sums.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/Shares.h"

#include "ops/Estimates.h"
#include "ops/launch/EmptyTensor.h"

#include <ATen/ATen.h>

namespace tessera::runtime {

int64_t attentionShares(const Attention &a) {
  return takesCpuKernels(a.q) ? onePassShares(a.keyHeads, a.sequences, a.keyDim)
                              : 0;
}

at::Tensor emptyShares(const at::Tensor &x, int64_t shares) {
  return emptyTensor({shares * x.size(0), x.size(1), x.size(2)},
                     x.options().dtype(at::kFloat));
}

at::Tensor sumOfShares(const at::Tensor &shares, const at::Tensor &x) {
  const int64_t rows = x.size(0);
  at::Tensor sum = shares.narrow(0, 0, rows);
  for (int64_t first = rows; first < shares.size(0); first += rows)
    if (const at::Tensor next = shares.narrow(0, first, rows); first == rows)
      sum = sum + next; // a new tensor, so that the shares can be freed
    else
      sum.add_(next);
  return sum.to(x.scalar_type());
}

} // namespace tessera::runtime
