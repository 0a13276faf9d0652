// models/Recompute.h - recomputes activations in the backward pass instead of
// storing them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <vector>

namespace tessera::models {

/// Returns body(x) and stores only x: the backward pass runs `body` again.
/// Gradients go to x and to `weights`, which must list all leaf tensors that
/// `body` reads, without undefined ones. They are bitwise equal to those of
/// body(x) if `body` is deterministic. `body` must own its other inputs.
at::Tensor recomputed(std::function<at::Tensor(const at::Tensor &)> body,
                      const at::Tensor &x,
                      const std::vector<at::Tensor> &weights);

} // namespace tessera::models
