// models/SquaredRelu.cpp - computes squared ReLU and its gradient.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SquaredRelu.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tessera::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SquaredRelu : torch::autograd::Function<SquaredRelu> {
  static at::Tensor forward(AutogradContext *context, const at::Tensor &x) {
    const at::Tensor r = at::relu(x);
    context->save_for_backward({r});
    return r * r;
  }
  static variable_list backward(AutogradContext *context, variable_list grads) {
    return {(grads[0] * context->get_saved_variables()[0]).mul_(2)};
  }
};

} // namespace

at::Tensor squaredRelu(const at::Tensor &x) {
  if (x.requires_grad() && at::GradMode::is_enabled())
    return SquaredRelu::apply(x);
  const at::Tensor r = at::relu(x);
  return r.mul_(r);
}

} // namespace tessera::models
