// models/AttachLoss.h - adds a loss of an inner layer to the backward pass of
// the model's loss.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::models {

/// Returns `output` unchanged. In the backward pass the scalar `loss` gets the
/// gradient `factor`, a scalar on the same device, independently of the
/// gradient of `output`. So a block whose activations are recomputed does not
/// have to return its loss as a second result.
at::Tensor attachLoss(const at::Tensor &output, const at::Tensor &loss,
                      const at::Tensor &factor);

} // namespace tessera::models
