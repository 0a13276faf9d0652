// models/Linear.h - matrix products of the model and of its optimizer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <vector>

namespace tessera::models {

/// Returns a [M, K] times b [K, N] without a gradient. On the CPU the bits do
/// not depend on the number of threads (ops/nn/Product.h).
at::Tensor product(const at::Tensor &a, const at::Tensor &b);

/// Returns a[i] times b[i] for every i in the same way. The matrices are on one
/// device; threads of the CPU compute different products.
std::vector<at::Tensor> products(const std::vector<at::Tensor> &a,
                                 const std::vector<at::Tensor> &b);

/// Returns x [T, in] times the transposed weight [out, in], with gradients by
/// product() on the CPU. On other devices this is at::linear().
at::Tensor linear(const at::Tensor &x, const at::Tensor &weight);

/// Kernels, product() and linear() run on `count` threads of ours, and torch's
/// own operations on the thread that calls them. For the process; call it
/// before the first launch.
void useOwnThreads(int64_t count);

} // namespace tessera::models
