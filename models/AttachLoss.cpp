// models/AttachLoss.cpp - the autograd function that adds an inner layer's loss
// to the backward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/AttachLoss.h"

#include <torch/csrc/autograd/custom_function.h>

namespace tessera::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Attached : torch::autograd::Function<Attached> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &output,
                            const at::Tensor &loss, const at::Tensor &factor) {
    ctx->save_for_backward({factor});
    ctx->saved_data["type"] = loss.scalar_type();
    return output.view_as(output);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const at::Tensor factor = ctx->get_saved_variables()[0];
    return {grads[0], factor.to(ctx->saved_data["type"].toScalarType()), {}};
  }
};

} // namespace

at::Tensor attachLoss(const at::Tensor &output, const at::Tensor &loss,
                      const at::Tensor &factor) {
  return Attached::apply(output, loss, factor);
}

} // namespace tessera::models
