// ops/nn/RmsNorm.cpp - RMSNorm over the last dimension.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"
#include "ops/nn/Norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace tessera::runtime {
namespace {
namespace rms_norm_op {

using at::Tensor;

std::tuple<Tensor, Tensor> forward(const Tensor &x, const Tensor &weight,
                                   double epsilon) {
  checkNorm("rms_norm", x, weight);
  Tensor y = emptyTensor(x.sizes(), x.options());
  const int64_t dim = x.size(-1), count = x.numel() / dim;
  Tensor rstd = emptyRstd(x);
  if (count == 0)
    return {y, rstd};
  const Tensor rows = normRows(x), scale = weight.contiguous();
  Launch launch("kernels/nn/rmsnorm_fwd.py", "rmsnorm_fwd");
  launch.tensor(rows).tensor(scale).tensor(y).tensor(rstd).integer(count).real(
      epsilon);
  launch.integer(rows.stride(0)).integer(dim).padded("D", "DP", dim);
  launch.run(ceilDiv(count, launch.tile("BR")));
  return {y, rstd};
}

std::tuple<Tensor, Tensor> backward(const Tensor &gradY, const Tensor &x,
                                    const Tensor &weight, const Tensor &rstd) {
  const char *op = "rms_norm_backward";
  checkNorm(op, x, weight);
  checkShape(op, "grad", gradY, x.sizes(), "the shape of x");
  const int64_t dim = x.size(-1), count = x.numel() / dim;
  checkSaved(op, "rstd", rstd, {count}, "[rows of x]", "x", x);
  Tensor dx = emptyTensor(x.sizes(), x.options());
  if (count == 0)
    return {dx, at::zeros(weight.sizes(), weight.options())};
  const Tensor rows = normRows(x), grad = normRows(gradY.to(x.scalar_type()));
  const Tensor scale = weight.contiguous();
  Launch launch("kernels/nn/rmsnorm_bwd.py", "rmsnorm_bwd");
  launch.tensor(grad)
      .tensor(rows)
      .tensor(scale)
      .tensor(rstd)
      .tensor(dx)
      .scratch(at::kFloat);
  launch.integer(count)
      .integer(grad.stride(0))
      .integer(rows.stride(0))
      .integer(dim);
  launch.padded("D", "DP", dim);
  return {dx, runNormBackward(launch, weight, rstd)};
}

std::tuple<Tensor, Tensor> meta(const Tensor &x, const Tensor &, double) {
  return {at::empty_symint(x.sym_sizes(), x.options()), emptyRstdMeta(x)};
}

std::tuple<Tensor, Tensor> metaBack(const Tensor &, const Tensor &x,
                                    const Tensor &weight, const Tensor &) {
  return normGradientsMeta(x, weight);
}

using Forward = std::tuple<Tensor, Tensor>(const Tensor &, const Tensor &,
                                           double);

struct Function : torch::autograd::Function<Function> {
  static variable_list forward(AutogradContext *ctx, const Tensor &x,
                               const Tensor &weight, double epsilon) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Forward>("rms_norm_forward");
    auto [y, rstd] = op.call(x, weight, epsilon);
    ctx->save_for_backward({x, weight, rstd});
    ctx->mark_non_differentiable({rstd});
    return {y, rstd};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<std::tuple<Tensor, Tensor>(
        const Tensor &, const Tensor &, const Tensor &, const Tensor &)>(
        "rms_norm_backward");
    const variable_list saved = ctx->get_saved_variables();
    auto [dx, dweight] = op.call(grads[0], saved[0], saved[1], saved[2]);
    return {dx, dweight, {}};
  }
};

std::tuple<Tensor, Tensor> autograd(const Tensor &x, const Tensor &weight,
                                    double epsilon) {
  const variable_list out = Function::apply(x, weight, epsilon);
  return {out[0], out[1]};
}

Tensor rmsNorm(const Tensor &x, const Tensor &weight, double epsilon) {
  static const auto op = findOp<Forward>("rms_norm_forward");
  return std::get<0>(op.call(x, weight, epsilon));
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl("rms_norm", rmsNorm);
}

TESSERA_AUTOGRAD_OP("rms_norm_forward", forward, meta, autograd);
TESSERA_OP("rms_norm_backward", backward, metaBack);

} // namespace rms_norm_op
} // namespace
} // namespace tessera::runtime
