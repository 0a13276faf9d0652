// ops/nn/ResidualNorm.cpp - the residual sum x + added, and its RMSNorm.
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
#include <c10/core/ScalarType.h>

namespace tessera::runtime {
namespace {
namespace residual_norm_op {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

constexpr const char *file = "kernels/nn/residual_norm.py";

Triple forward(const Tensor &x, const Tensor &added, const Tensor &weight,
               double epsilon) {
  const char *op = "residual_norm";
  checkNorm(op, x, weight);
  checkShape(op, "added", added, x.sizes(), "the shape of x");
  checkSameType(op, "added", added, "x", x);
  Tensor sum = emptyTensor(x.sizes(), x.options());
  Tensor y = emptyTensor(x.sizes(), x.options());
  const int64_t dim = x.size(-1), count = x.numel() / dim;
  Tensor rstd = emptyRstd(x);
  if (count == 0)
    return {sum, y, rstd};
  const Tensor rows = normRows(x), more = normRows(added);
  const Tensor scale = weight.contiguous();
  Launch launch(file, "residual_norm_fwd");
  launch.tensor(rows).tensor(more).tensor(scale).tensor(sum).tensor(y);
  launch.tensor(rstd).integer(count).real(epsilon);
  launch.integer(rows.stride(0)).integer(more.stride(0)).integer(dim);
  launch.padded("D", "DP", dim);
  launch.run(ceilDiv(count, launch.tile("BR")));
  return {sum, y, rstd};
}

// Returns the gradient of x, which is also that of `added`, and the gradient of
// the weight.
Pair backward(const Tensor &gradY, const Tensor &gradSum, const Tensor &sum,
              const Tensor &weight, const Tensor &rstd) {
  const char *op = "residual_norm_backward";
  checkNorm(op, sum, weight);
  checkShape(op, "grad_y", gradY, sum.sizes(), "the shape of x");
  checkShape(op, "grad_sum", gradSum, sum.sizes(), "the shape of x");
  const int64_t dim = sum.size(-1), count = sum.numel() / dim;
  checkSaved(op, "rstd", rstd, {count}, "[rows of x]", "x", sum);
  Tensor dx = emptyTensor(sum.sizes(), sum.options());
  if (count == 0)
    return {dx, at::zeros(weight.sizes(), weight.options())};
  const Tensor rows = normRows(sum), dy = normRows(gradY.to(sum.scalar_type())),
               dz = normRows(gradSum.to(sum.scalar_type()));
  const Tensor scale = weight.contiguous();
  Launch launch(file, "residual_norm_bwd");
  launch.tensor(dy).tensor(dz).tensor(rows).tensor(scale).tensor(rstd);
  launch.tensor(dx).scratch(at::kFloat).integer(count);
  launch.integer(dy.stride(0)).integer(dz.stride(0)).integer(rows.stride(0));
  launch.integer(dim).padded("D", "DP", dim);
  return {dx, runNormBackward(launch, weight, rstd)};
}

Triple meta(const Tensor &x, const Tensor &, const Tensor &, double) {
  return {at::empty_symint(x.sym_sizes(), x.options()),
          at::empty_symint(x.sym_sizes(), x.options()), emptyRstdMeta(x)};
}

Pair metaBack(const Tensor &, const Tensor &, const Tensor &sum,
              const Tensor &weight, const Tensor &) {
  return normGradientsMeta(sum, weight);
}

using Forward = Triple(const Tensor &, const Tensor &, const Tensor &, double);

struct Function : torch::autograd::Function<Function> {
  static variable_list forward(AutogradContext *ctx, const Tensor &x,
                               const Tensor &added, const Tensor &weight,
                               double epsilon) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Forward>("residual_norm_forward");
    auto [sum, y, rstd] = op.call(x, added, weight, epsilon);
    ctx->save_for_backward({sum, weight, rstd});
    ctx->mark_non_differentiable({rstd});
    ctx->set_materialize_grads(false); // the caller may use only one result
    return {sum, y, rstd};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto both =
        findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &)>("residual_norm_backward");
    static const auto normAlone =
        findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &)>("rms_norm_backward");
    const variable_list saved = ctx->get_saved_variables();
    if (!grads[1].defined())
      return {grads[0], grads[0], {}, {}};
    auto [dx, dweight] =
        grads[0].defined()
            ? both.call(grads[1], grads[0], saved[0], saved[1], saved[2])
            : normAlone.call(grads[1], saved[0], saved[1], saved[2]);
    return {dx, dx, dweight, {}};
  }
};

Triple autograd(const Tensor &x, const Tensor &added, const Tensor &weight,
                double epsilon) {
  const variable_list out = Function::apply(x, added, weight, epsilon);
  return {out[0], out[1], out[2]};
}

// The sum has the type of torch's x + added: under autocast the two types
// differ.
Pair residualNorm(const Tensor &x, const Tensor &added, const Tensor &weight,
                  double epsilon) {
  static const auto op = findOp<Forward>("residual_norm_forward");
  const at::ScalarType type =
      c10::promoteTypes(x.scalar_type(), added.scalar_type());
  auto [sum, y, rstd] = op.call(x.to(type), added.to(type), weight, epsilon);
  return {sum, y};
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl("residual_norm", residualNorm);
}

TESSERA_AUTOGRAD_OP("residual_norm_forward", forward, meta, autograd);
TESSERA_OP("residual_norm_backward", backward, metaBack);

} // namespace residual_norm_op
} // namespace
} // namespace tessera::runtime
