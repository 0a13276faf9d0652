// ops/attention/Compress.h - code that the ops of NSA's compression share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <optional>

namespace tessera::runtime {

// Checks x, [T, heads, size], and weight, [length, size], which is absent for
// the mean. `rows` is the number of compressed rows, which messages call
// `name`. Throws ValueError.
void checkCompression(const char *op, const at::Tensor &x,
                      const std::optional<at::Tensor> &weight,
                      const at::Tensor &cuSeqlens, const at::Tensor &cuCmp,
                      int64_t maxSeqlen, int64_t length, int64_t stride,
                      const char *name, int64_t rows);

// Returns the gradient of the contiguous weight [length, size] from that of the
// compressed rows; both tensors have unit last strides.
at::Tensor filterGradient(const at::Tensor &grad, const at::Tensor &x,
                          const at::Tensor &weight, const at::Tensor &cuSeqlens,
                          const at::Tensor &cuCmp, int64_t maxSeqlen,
                          int64_t length, int64_t stride);

} // namespace tessera::runtime
