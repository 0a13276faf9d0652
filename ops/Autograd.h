// ops/Autograd.h - shared code of the differentiable ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <array>
#include <optional>
#include <string>
#include <torch/csrc/autograd/custom_function.h>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tessera::runtime {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns the op tessera::NAME with the given C++ signature, for calls that
// must pass through the dispatcher.
template <typename Signature>
c10::TypedOperatorHandle<Signature> findOp(const char *name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow((std::string("tessera::") + name).c_str(), "")
      .typed<Signature>();
}

// Splits an argument for the backward pass: save_for_backward() stores the
// tensor, an IValue the rest. The functions return the tensor of an argument,
// the argument without its tensor, and the restored argument.
template <typename T>
at::Tensor tensorOf(const T &argument) {
  if constexpr (std::is_same_v<T, at::Tensor>)
    return argument;
  else if constexpr (std::is_same_v<T, std::optional<at::Tensor>>)
    return argument.value_or(at::Tensor());
  else
    return {};
}
template <typename T>
T withoutTensor(const T &argument) {
  return tensorOf(argument).defined() ? T() : argument;
}
template <typename T>
T withTensor(const T &argument, const at::Tensor &tensor) {
  if constexpr (std::is_constructible_v<T, at::Tensor>)
    return tensor.defined() ? T(tensor) : argument;
  else
    return argument;
}

// Returns the arguments of an attention op that receive a gradient after q, k
// and v: Op::differentiable, as indices among Extra of AttentionFunction.
template <typename Op>
constexpr auto differentiableArguments() {
  if constexpr (requires { Op::differentiable; })
    return Op::differentiable;
  else
    return std::array<size_t, 0>();
}

// Autograd of an attention op: (q, k, v, extra...) -> (o, lse) with backward
// (grad_o, grad_lse, q, k, v, o, lse, extra...) -> (dq, dk, dv, a gradient for
// each differentiable argument). Op has the two names; Extra are the types of
// the schema's further arguments.
template <typename Op, typename... Extra>
struct AttentionFunction
    : torch::autograd::Function<AttentionFunction<Op, Extra...>> {
  static constexpr auto differentiable = differentiableArguments<Op>();
  using Gradients = decltype(std::tuple_cat(
      std::array<at::Tensor, 3 + differentiable.size()>()));
  using Forward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor &,
                                                     const at::Tensor &,
                                                     const at::Tensor &,
                                                     Extra...);
  using Backward = Gradients(const at::Tensor &,
                             const std::optional<at::Tensor> &,
                             const at::Tensor &, const at::Tensor &,
                             const at::Tensor &, const at::Tensor &,
                             const at::Tensor &, Extra...);
  // Stores strings: a string view does not outlive the call.
  using Kept =
      std::tuple<std::conditional_t<std::is_same_v<Extra, c10::string_view>,
                                    std::string, std::decay_t<Extra>>...>;

  static variable_list forward(AutogradContext *ctx, const at::Tensor &q,
                               const at::Tensor &k, const at::Tensor &v,
                               Extra... extra) {
    at::AutoDispatchBelowADInplaceOrView below;
    // Their backward pass checks whether lse has a gradient.
    if constexpr (differentiable.size() > 0)
      ctx->set_materialize_grads(false);
    static const auto op = findOp<Forward>(Op::name);
    auto [o, lse] = op.call(q, k, v, extra...);
    ctx->save_for_backward({q, k, v, o, lse, tensorOf(extra)...});
    ctx->saved_data["extra"] = Kept(withoutTensor(extra)...);
    return {o, lse};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<Backward>(Op::backwardName);
    const variable_list saved = ctx->get_saved_variables();
    const auto extra = ctx->saved_data["extra"].template to<Kept>();
    const at::Tensor gradO =
        grads[0].defined()
            ? grads[0]
            : at::Tensor(saved[3].new_zeros_symint(saved[3].sym_sizes()));
    const std::optional<at::Tensor> gradLse =
        grads[1].defined() ? std::optional(grads[1]) : std::nullopt;
    const Gradients gradients = [&]<size_t... I>(std::index_sequence<I...>) {
      return op.call(gradO, gradLse, saved[0], saved[1], saved[2], saved[3],
                     saved[4], withTensor(std::get<I>(extra), saved[5 + I])...);
    }(std::index_sequence_for<Extra...>());
    const variable_list made = std::apply(
        [](const auto &...g) { return variable_list{g...}; }, gradients);
    variable_list result(made.begin(), made.begin() + 3);
    result.resize(3 + sizeof...(Extra));
    for (size_t i = 0; i < differentiable.size(); ++i)
      if (saved[5 + differentiable[i]].defined())
        result[3 + differentiable[i]] = made[3 + i];
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
