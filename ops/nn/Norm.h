// ops/nn/Norm.h - code that rms_norm and residual_norm share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/launch/Launch.h"

#include <ATen/core/Tensor.h>
#include <tuple>

namespace tessera::runtime {

// Returns x as rows [N, D] with unit last stride.
at::Tensor normRows(const at::Tensor &x);

// Throws c10::ValueError for an x that cannot be normalized by `weight`.
void checkNorm(const char *op, const at::Tensor &x, const at::Tensor &weight);

// Returns an uninitialized tensor for the fp32 reciprocal root mean squares,
// one for each row of x.
at::Tensor emptyRstd(const at::Tensor &x);
// Returns the same for symbolic sizes.
at::Tensor emptyRstdMeta(const at::Tensor &x);

// Runs a backward launch over the rows of `rstd`. Its only unbound tensor is
// the scratch for the partial sums of the weight's gradient. Returns their sum.
at::Tensor runNormBackward(Launch &launch, const at::Tensor &weight,
                           const at::Tensor &rstd);

// Returns the meta tensors of the gradients of x and of the weight.
std::tuple<at::Tensor, at::Tensor> normGradientsMeta(const at::Tensor &x,
                                                     const at::Tensor &weight);

} // namespace tessera::runtime
