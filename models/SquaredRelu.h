// models/SquaredRelu.h - relu(x)^2 with little memory traffic.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::models {

/// Returns max(x, 0)^2, bitwise equal to at::relu(x).square(), as is its
/// gradient 2 max(x, 0) dy. Autograd's backward pass allocates four tensors of
/// x's size, this one allocates one. Once differentiable.
at::Tensor squaredRelu(const at::Tensor &x);

} // namespace tessera::models
