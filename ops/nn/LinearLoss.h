// ops/nn/LinearLoss.h - parts that both ways to compute the cross-entropy of a
// linear layer share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::runtime {

// Throws an error of the op if shapes, types or devices are wrong, or if a
// target in host memory is neither a row of `weight` nor `ignored`.
void checkLinearLoss(const char *op, const at::Tensor &hidden,
                     const at::Tensor &weight, const at::Tensor &targets,
                     int64_t ignored);

// Returns the losses, fp32 [tokens], and records their gradient. Keeps the
// logits of all tokens for the backward pass, which is possible once.
at::Tensor lossOfKeptLogits(const at::Tensor &hidden, const at::Tensor &weight,
                            const at::Tensor &targets, int64_t ignored);

} // namespace tessera::runtime
