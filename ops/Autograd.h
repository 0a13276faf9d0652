// ops/Autograd.h - what the differentiable ops share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <tuple>

namespace tessera::runtime {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The op tessera::NAME with the given C++ signature, for calls that must pass
// through the dispatcher.
template <typename Signature>
c10::TypedOperatorHandle<Signature> findOp(const char *name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow((std::string("tessera::") + name).c_str(), "")
      .typed<Signature>();
}

// Autograd of an attention op: (q, k, v, extra...) -> (o, lse) with backward
// (grad_o, grad_lse, q, k, v, o, lse, extra...) -> (dq, dk, dv). Op has the two
// names; Extra are the types of the schema's further arguments.
template <typename Op, typename... Extra>
struct AttentionFunction
    : torch::autograd::Function<AttentionFunction<Op, Extra...>> {
  using Forward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor &,
                                                     const at::Tensor &,
                                                     const at::Tensor &,
                                                     Extra...);
  using Backward = std::tuple<at::Tensor, at::Tensor, at::Tensor>(
      const at::Tensor &, const std::optional<at::Tensor> &, const at::Tensor &,
      const at::Tensor &, const at::Tensor &, const at::Tensor &,
      const at::Tensor &, Extra...);

  static variable_list forward(AutogradContext *ctx, const at::Tensor &q,
                               const at::Tensor &k, const at::Tensor &v,
                               Extra... extra) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Forward>(Op::name);
    auto [o, lse] = op.call(q, k, v, extra...);
    ctx->save_for_backward({q, k, v, o, lse});
    ctx->saved_data["extra"] = std::tuple<std::decay_t<Extra>...>(extra...);
    return {o, lse};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<Backward>(Op::backwardName);
    const variable_list saved = ctx->get_saved_variables();
    const auto extra = ctx->saved_data["extra"]
                           .template to<std::tuple<std::decay_t<Extra>...>>();
    const at::Tensor gradO =
        grads[0].defined()
            ? grads[0]
            : at::Tensor(saved[3].new_zeros_symint(saved[3].sym_sizes()));
    const std::optional<at::Tensor> gradLse =
        grads[1].defined() ? std::optional(grads[1]) : std::nullopt;
    auto [dq, dk, dv] = std::apply(
        [&](const auto &...e) {
          return op.call(gradO, gradLse, saved[0], saved[1], saved[2], saved[3],
                         saved[4], e...);
        },
        extra);
    variable_list result{dq, dk, dv};
    result.resize(3 + sizeof...(Extra));
    return result;
  }

  static std::tuple<at::Tensor, at::Tensor> call(const at::Tensor &q,
                                                 const at::Tensor &k,
                                                 const at::Tensor &v,
                                                 Extra... extra) {
    const variable_list out = AttentionFunction::apply(q, k, v, extra...);
    return {out[0], out[1]};
  }
};

} // namespace tessera::runtime
