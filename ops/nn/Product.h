// ops/nn/Product.h - matrix products whose bits do not depend on the number of
// threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <vector>

namespace tessera::runtime {

/// Writes a [M, K] times b [K, N] into out [M, N], all of one type.
///
/// On the CPU bands of rows of `out` are computed by one thread each, on the
/// threads that run kernels. The bands depend on M, K and N only. torch's own
/// product divides the work by the number of threads instead, so its bits
/// depend on that number, and each of its threads waits for all others, also
/// for one whose core another process uses. Does not record a gradient.
void productOut(const at::Tensor &out, const at::Tensor &a,
                const at::Tensor &b);

/// Adds a [M, K] times b [K, N] to `sum` [M, N] in the same way, without memory
/// for the product.
void addProduct(const at::Tensor &sum, const at::Tensor &a,
                const at::Tensor &b);

/// Returns a [M, K] times b [K, N] in new memory.
at::Tensor product(const at::Tensor &a, const at::Tensor &b);

/// Returns a[i] [M, K] times b[i] [K, N] for every i, on one device. Threads
/// compute different products, so that small ones need no bands. The bits do
/// not depend on the other products.
std::vector<at::Tensor> products(at::TensorList a, at::TensorList b);

} // namespace tessera::runtime
