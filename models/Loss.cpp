// models/Loss.cpp - computes the loss from logits or from fused losses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Loss.h"

#include <ATen/ATen.h>

namespace tessera::models {
namespace {

at::Tensor ofLogits(const ForwardResult &result, const at::Tensor &targets,
                    at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(result.logits.flatten(0, 1).to(at::kFloat),
                                targets.flatten(), {}, reduction, noTarget);
}

} // namespace

at::Tensor meanLoss(const ForwardResult &result, const at::Tensor &targets) {
  if (!result.losses.defined())
    return ofLogits(result, targets, at::Reduction::Mean);
  return result.losses.sum() / targets.ne(noTarget).sum();
}

at::Tensor tokenLosses(const ForwardResult &result, const at::Tensor &targets) {
  return result.losses.defined()
             ? result.losses
             : ofLogits(result, targets, at::Reduction::None);
}

} // namespace tessera::models
