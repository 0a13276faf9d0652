// models/Recompute.cpp - an autograd function that runs its body in the forward
// pass and again in the backward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Recompute.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tessera::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Body : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor &)> run;
  std::vector<at::Tensor> weights;
};

struct RunAgain : torch::autograd::Function<RunAgain> {
  static at::Tensor forward(AutogradContext *ctx,
                            const c10::intrusive_ptr<Body> &body,
                            const at::Tensor &x, at::TensorList) {
    ctx->saved_data["body"] = c10::IValue::make_capsule(body);
    ctx->save_for_backward({x});
    return body->run(x);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const auto body = c10::static_intrusive_pointer_cast<Body>(
        ctx->saved_data["body"].toCapsule());
    const at::AutoGradMode enabled(true);
    const at::Tensor x =
        ctx->get_saved_variables()[0].detach().requires_grad_(true);
    variable_list inputs = {x};
    inputs.insert(inputs.end(), body->weights.begin(), body->weights.end());
    variable_list found = torch::autograd::grad(
        {body->run(x)}, inputs, grads, /*retain_graph=*/std::nullopt,
        /*create_graph=*/false, /*allow_unused=*/true);
    found.insert(found.begin(), at::Tensor()); // `body` gets no gradient
    return found;
  }
};

} // namespace

at::Tensor recomputed(std::function<at::Tensor(const at::Tensor &)> body,
                      const at::Tensor &x,
                      const std::vector<at::Tensor> &weights) {
  auto held = c10::make_intrusive<Body>();
  held->run = std::move(body);
  held->weights = weights;
  return RunAgain::apply(held, x, at::TensorList(weights));
}

} // namespace tessera::models
