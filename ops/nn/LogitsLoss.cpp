// ops/nn/LogitsLoss.cpp - cross-entropy of a linear layer that keeps the logits
// of all tokens for the backward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Estimates.h"
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"
#include "ops/nn/LinearLoss.h"
#include "ops/nn/Product.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace tessera::runtime {
namespace {
namespace logits_loss_op {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

constexpr const char *file = "kernels/nn/logits_loss.py";

void check(const char *op, const Tensor &hidden, const Tensor &weight,
           const Tensor &targets, int64_t ignored) {
  checkLinearLoss(op, hidden, weight, targets, ignored);
  // Columns are 32-bit numbers in the kernels, also those of the last tile.
  TESSERA_CHECK(weight.size(0) <= int64_t{1} << 30, op, "weight has ",
                weight.size(0),
                " rows and kept logits take at most 2^30; pass "
                "keep_logits=False");
}

// Returns the losses, lse and the logits [tokens, keptColumns(V)]. Torch
// computes the product; our kernel reads each row once.
Three forward(const Tensor &hidden, const Tensor &weight, const Tensor &targets,
              int64_t ignored) {
  check("linear_cross_entropy_logits", hidden, weight, targets, ignored);
  const int64_t tokens = hidden.size(0), vocabulary = weight.size(0);
  const auto numbers = hidden.options().dtype(at::kFloat);
  Tensor losses = at::empty({tokens}, numbers);
  Tensor lse = at::empty({tokens}, numbers);
  Tensor logits =
      emptyTensor({tokens, keptColumns(vocabulary)}, hidden.options());
  if (tokens == 0)
    return {losses, lse, logits};
  productOut(logits.narrow(1, 0, vocabulary), unitLast(hidden),
             unitLast(weight).t());
  const Tensor wanted = targets.contiguous();
  Launch launch(file, "logits_loss_fwd");
  launch.tensor(logits).tensor(wanted).tensor(lse).tensor(losses);
  launch.integer(tokens).integer(vocabulary).integer(ignored);
  launch.integer(logits.stride(0));
  launch.run(ceilDiv(tokens, launch.tile("BR")));
  return {losses, lse, logits};
}

// Returns the gradients of hidden and weight. Overwrites `logits` with their
// gradient.
Pair backward(const Tensor &grad, const Tensor &hidden, const Tensor &weight,
              const Tensor &targets, const Tensor &lse, const Tensor &logits,
              int64_t ignored) {
  const char *op = "linear_cross_entropy_logits_backward";
  const at::NoGradGuard noGrad;
  check(op, hidden, weight, targets, ignored);
  const int64_t tokens = hidden.size(0), vocabulary = weight.size(0);
  checkShape(op, "grad", grad, {tokens}, "[tokens]");
  checkShape(op, "lse", lse, {tokens}, "[tokens]");
  checkShape(op, "logits", logits, {tokens, keptColumns(vocabulary)},
             "[tokens, V rounded up to a multiple of 16]");
  checkSameType(op, "logits", logits, "hidden", hidden);
  checkSameDevice(op, "logits", logits, "hidden", hidden);
  TESSERA_CHECK(logits.is_contiguous(), op, "logits has the strides ",
                logits.strides(),
                "; pass the logits that linear_cross_entropy_logits returned");
  if (tokens == 0)
    return {at::empty(hidden.sizes(), hidden.options()),
            at::zeros(weight.sizes(), weight.options())};
  const Tensor h = unitLast(hidden), w = unitLast(weight);
  const Tensor wanted = targets.contiguous(), sums = lse.contiguous(),
               scale = grad.to(at::kFloat).contiguous();
  Launch launch(file, "logits_loss_bwd");
  launch.tensor(logits).tensor(wanted).tensor(sums).tensor(scale);
  launch.integer(tokens).integer(vocabulary).integer(ignored);
  launch.integer(logits.stride(0));
  launch.run(ceilDiv(tokens, launch.tile("BR")));
  const Tensor dl = logits.narrow(1, 0, vocabulary);
  Tensor dh = emptyTensor(hidden.sizes(), hidden.options());
  Tensor dw = emptyTensor(weight.sizes(), weight.options());
  productOut(dh, dl, w);
  productOut(dw, dl.t(), h);
  return {dh, dw};
}

Three meta(const Tensor &hidden, const Tensor &weight, const Tensor &,
           int64_t) {
  const auto numbers = hidden.options().dtype(at::kFloat);
  const c10::SymInt tokens = hidden.sym_size(0);
  return {at::empty_symint({tokens}, numbers),
          at::empty_symint({tokens}, numbers),
          at::empty_symint({tokens, keptColumns(weight.sym_size(0))},
                           hidden.options())};
}

Pair metaBack(const Tensor &, const Tensor &hidden, const Tensor &weight,
              const Tensor &, const Tensor &, const Tensor &, int64_t) {
  return {at::empty_symint(hidden.sym_sizes(), hidden.options()),
          at::empty_symint(weight.sym_sizes(), weight.options())};
}

struct Function : torch::autograd::Function<Function> {
  static variable_list forward(AutogradContext *ctx, const Tensor &hidden,
                               const Tensor &weight, const Tensor &targets,
                               int64_t ignored) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op =
        findOp<Three(const Tensor &, const Tensor &, const Tensor &, int64_t)>(
            "linear_cross_entropy_logits");
    auto [losses, lse, logits] = op.call(hidden, weight, targets, ignored);
    ctx->save_for_backward({hidden, weight, targets, lse, logits});
    ctx->saved_data["ignored"] = ignored;
    return {losses};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op =
        findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, const Tensor &, int64_t)>(
            "linear_cross_entropy_logits_backward");
    const variable_list saved = ctx->get_saved_variables();
    TESSERA_CHECK(ctx->saved_data.count("overwritten") == 0,
                  "linear_cross_entropy",
                  "an earlier backward pass replaced the kept logits by their "
                  "gradient; pass keep_logits=False for a graph that is passed "
                  "backward more than once");
    // Even a pass that fails may have written to them. With create_graph=True
    // the op refuses before.
    if (!at::GradMode::is_enabled())
      ctx->saved_data["overwritten"] = true;
    auto [dhidden, dweight] =
        op.call(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4],
                ctx->saved_data["ignored"].toInt());
    return {dhidden, dweight, {}, {}};
  }
};

TESSERA_OP("linear_cross_entropy_logits", forward, meta);
TESSERA_OP("linear_cross_entropy_logits_backward", backward, metaBack);

} // namespace logits_loss_op
} // namespace

at::Tensor lossOfKeptLogits(const at::Tensor &hidden, const at::Tensor &weight,
                            const at::Tensor &targets, int64_t ignored) {
  return logits_loss_op::Function::apply(hidden, weight, targets, ignored)[0];
}

} // namespace tessera::runtime
