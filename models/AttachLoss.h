// models/AttachLoss.h - adds a loss of an inner layer to the backward pass of
// the model's loss.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::models {

/// Returns `output` unchanged. In the backward pass `loss`, one number, gets
/// the gradient `factor`, one number on the same device. The gradient of the
/// output does not change it. A block whose activations are computed again
/// needs no second result for its loss then.
at::Tensor attachLoss(const at::Tensor &output, const at::Tensor &loss,
                      const at::Tensor &factor);

} // namespace tessera::models
