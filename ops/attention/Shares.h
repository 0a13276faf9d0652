// ops/attention/Shares.h - gradients that several programs accumulate
// separately.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"

#include <ATen/core/Tensor.h>

namespace tessera::runtime {

// Returns onePassShares() for tensors of the CPU, else 0.
int64_t attentionShares(const Attention &a);

// Returns uninitialized memory for the contributions of `shares` programs to
// the gradient of x [T, H, width]: fp32 [shares * T, H, width].
at::Tensor emptyShares(const at::Tensor &x, int64_t shares);

// Returns the sum of the shares in the type of x, added in ascending order;
// at::sum() does not guarantee an order.
at::Tensor sumOfShares(const at::Tensor &shares, const at::Tensor &x);

} // namespace tessera::runtime
