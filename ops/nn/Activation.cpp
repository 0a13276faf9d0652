// ops/nn/Activation.cpp - the op of an MLP's activation, with its gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace activation_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr const char *file = "kernels/nn/activation.py";

// Returns the constexpr KIND of the kernels.
int64_t kindOf(const char *op, c10::string_view kind) {
  if (kind == "relu2")
    return 0;
  if (kind == "silu")
    return 1;
  TESSERA_CHECK(kind == "swiglu", op, "kind is \"", kind,
                "\"; \"relu2\", \"silu\" and \"swiglu\" are known");
  return 2;
}

int64_t check(const char *op, const Tensor &x, c10::string_view kind,
              const MaybeTensor &gate) {
  checkFloating(op, "x", x);
  const int64_t known = kindOf(op, kind);
  TESSERA_CHECK(gate.has_value() == (known == 2), op,
                known == 2 ? "swiglu takes a gate of the shape of x"
                           : "only swiglu takes a gate");
  if (gate) {
    checkShape(op, "gate", *gate, x.sizes(), "the shape of x");
    TESSERA_CHECK(gate->scalar_type() == x.scalar_type(), op, "gate is ",
                  gate->scalar_type(), " and x is ", x.scalar_type(),
                  "; give both one type");
  }
  return known;
}

Tensor forward(const Tensor &x, c10::string_view kind,
               const MaybeTensor &gate) {
  const int64_t known = check("mlp_activation", x, kind, gate);
  const Tensor in = x.contiguous(), opening = gate ? gate->contiguous() : in;
  Tensor y = emptyTensor(x.sizes(), x.options());
  if (in.numel() == 0)
    return y;
  Launch launch(file, "activation_fwd");
  launch.tensor(in).tensor(opening).tensor(y).integer(in.numel());
  launch.constant("KIND", known);
  launch.run(ceilDiv(in.numel(), launch.tile("BC")));
  return y;
}

// Returns the gradients of x and of the gate. Without a gate the second tensor
// is empty.
std::tuple<Tensor, Tensor> backward(const Tensor &grad, const Tensor &x,
                                    c10::string_view kind,
                                    const MaybeTensor &gate) {
  const char *op = "mlp_activation_backward";
  const int64_t known = check(op, x, kind, gate);
  checkShape(op, "grad", grad, x.sizes(), "the shape of x");
  const Tensor in = x.contiguous(), opening = gate ? gate->contiguous() : in;
  const Tensor dy = grad.to(x.scalar_type()).contiguous();
  Tensor dx = emptyTensor(x.sizes(), x.options());
  Tensor dgate =
      gate ? at::empty(x.sizes(), x.options()) : at::empty({0}, x.options());
  if (in.numel() == 0)
    return {dx, dgate};
  Launch launch(file, "activation_bwd");
  launch.tensor(dy).tensor(in).tensor(opening).tensor(dx);
  launch.tensor(gate ? dgate : dx).integer(in.numel());
  launch.constant("KIND", known);
  launch.run(ceilDiv(in.numel(), launch.tile("BC")));
  return {dx, dgate};
}

Tensor contiguousLike(const Tensor &x) {
  return at::empty_symint(x.sym_sizes(), x.options());
}

Tensor meta(const Tensor &x, c10::string_view, const MaybeTensor &) {
  return contiguousLike(x);
}

std::tuple<Tensor, Tensor> metaBack(const Tensor &, const Tensor &x,
                                    c10::string_view, const MaybeTensor &gate) {
  return {contiguousLike(x),
          gate ? contiguousLike(x) : at::empty({0}, x.options())};
}

using Forward = Tensor(const Tensor &, c10::string_view, const MaybeTensor &);
using Backward = std::tuple<Tensor, Tensor>(const Tensor &, const Tensor &,
                                            c10::string_view,
                                            const MaybeTensor &);

struct Function : torch::autograd::Function<Function> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x,
                        c10::string_view kind, const MaybeTensor &gate) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Forward>("mlp_activation");
    ctx->save_for_backward({x, gate.value_or(Tensor())});
    ctx->saved_data["kind"] = std::string(kind);
    return op.call(x, kind, gate);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<Backward>("mlp_activation_backward");
    const variable_list saved = ctx->get_saved_variables();
    const MaybeTensor gate =
        saved[1].defined() ? MaybeTensor(saved[1]) : std::nullopt;
    const std::string kind = ctx->saved_data["kind"].toStringRef();
    auto [dx, dgate] = op.call(grads[0], saved[0], kind, gate);
    return {dx, {}, gate ? dgate : Tensor()};
  }
};

Tensor autograd(const Tensor &x, c10::string_view kind,
                const MaybeTensor &gate) {
  return Function::apply(x, kind, gate);
}

TESSERA_AUTOGRAD_OP("mlp_activation", forward, meta, autograd);
TESSERA_OP("mlp_activation_backward", backward, metaBack);

} // namespace activation_op
} // namespace
} // namespace tessera::runtime
