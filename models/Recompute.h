// models/Recompute.h - activations computed again in place of being kept.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <vector>

namespace tessera::models {

/// body(x), of which until the backward pass only x is kept: there `body` runs
/// again. Gradients go to x and to `weights`, which are all leaf tensors that
/// `body` reads, undefined ones left out, and are the same bits as those of
/// body(x) if `body` gives the same bits each time. `body` must own what it
/// uses besides.
at::Tensor recomputed(std::function<at::Tensor(const at::Tensor &)> body,
                      const at::Tensor &x,
                      const std::vector<at::Tensor> &weights);

} // namespace tessera::models
