// models/Linear.cpp - matrix products of the model and of its optimizer, by
// torch operations of libtessera.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Linear.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tessera::models {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Linear : torch::autograd::Function<Linear> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x,
                        const Tensor &weight) {
    ctx->save_for_backward({x, weight});
    return product(x, weight.t());
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &grad = grads[0];
    return {ctx->needs_input_grad(0) ? product(grad, weight) : Tensor(),
            ctx->needs_input_grad(1) ? product(grad.t(), x) : Tensor()};
  }
};

} // namespace

Tensor product(const Tensor &a, const Tensor &b) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("tessera_internal::product", "")
                             .typed<Tensor(const Tensor &, const Tensor &)>();
  return op.call(a, b);
}

std::vector<Tensor> products(const std::vector<Tensor> &a,
                             const std::vector<Tensor> &b) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("tessera_internal::products", "")
          .typed<std::vector<Tensor>(at::TensorList, at::TensorList)>();
  return op.call(a, b);
}

Tensor linear(const Tensor &x, const Tensor &weight) {
  return x.is_cpu() && x.dim() == 2 ? Linear::apply(x, weight)
                                    : at::linear(x, weight);
}

void useOwnThreads(int64_t count) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("tessera_internal::own_threads", "")
          .typed<void(int64_t)>();
  op.call(count);
}

} // namespace tessera::models
