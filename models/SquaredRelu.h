// models/SquaredRelu.h - relu(x)^2 with few passes over memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::models {

/// max(x, 0)^2, with the bits of at::relu(x).square() and of its gradient
/// 2 max(x, 0) dy. Autograd's own backward pass makes four tensors of x's size,
/// this one makes one. Once differentiable.
at::Tensor squaredRelu(const at::Tensor &x);

} // namespace tessera::models
