// ops/nn/LinearLoss.cpp - cross-entropy of a linear layer. It holds the logits
// of only one chunk of tokens at a time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/LinearLoss.h"
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Estimates.h"
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"
#include "ops/nn/Product.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <limits>

namespace tessera::runtime {

// Checks contents in host memory only (Check.h). On a GPU, a target outside the
// vocabulary gives a loss of NaN.
static void checkTargets(const char *op, const at::Tensor &targets,
                         int64_t vocabulary, int64_t ignored) {
  if (!targets.device().is_cpu())
    return;
  const at::Tensor all = targets.contiguous();
  const int64_t *entries = all.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < all.numel(); ++i)
    TESSERA_CHECK(
        (entries[i] >= 0 && entries[i] < vocabulary) || entries[i] == ignored,
        op, "targets[", i, "] is ", entries[i], " and weight has ", vocabulary,
        " rows; pass 0 to ", vocabulary - 1, ", or ignore_index = ", ignored,
        " for a token that does not count");
}

void checkLinearLoss(const char *op, const at::Tensor &hidden,
                     const at::Tensor &weight, const at::Tensor &targets,
                     int64_t ignored) {
  checkFloating(op, "hidden", hidden);
  TESSERA_CHECK(hidden.dim() == 2 && hidden.size(1) > 0, op,
                "hidden has shape ", hidden.sizes(),
                " and must have [tokens, D], D > 0; flatten a batch of "
                "sequences with .flatten(0, 1)");
  checkFloating(op, "weight", weight);
  TESSERA_CHECK(weight.dim() == 2 && weight.size(1) == hidden.size(1) &&
                    weight.size(0) > 0,
                op, "weight has shape ", weight.sizes(), " and must have [V, ",
                hidden.size(1),
                "] = [vocabulary, last dimension of hidden], as "
                "torch.nn.Linear(D, V).weight has");
  checkSameType(op, "weight", weight, "hidden", hidden);
  TESSERA_CHECK(targets.scalar_type() == at::kLong, op, "targets is ",
                targets.scalar_type(), "; pass int64, for example ",
                "targets.long()");
  checkShape(op, "targets", targets, {hidden.size(0)}, "[tokens]");
  checkSameDevice(op, "targets", targets, "hidden", hidden);
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  TESSERA_CHECK(ignored >= -most && ignored <= most, op, "ignore_index is ",
                ignored, "; pass a number of 32 bits, for example -100");
  TESSERA_CHECK(hidden.size(0) <= most && weight.size(0) <= most, op,
                "there are ", hidden.size(0), " tokens and ", weight.size(0),
                " rows of weight; one call takes at most 2^31 - 1 of each");
  checkTargets(op, targets, weight.size(0), ignored);
}

namespace {
namespace linear_loss_op {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

constexpr const char *file = "kernels/nn/linear_loss.py";

// Vocabulary columns that one program of the forward kernel covers for each of
// its tokens. All programs of a span run at the same time, so they read the
// span's rows of W from a cache.
constexpr int64_t span = 2048;

Pair forward(const Tensor &hidden, const Tensor &weight, const Tensor &targets,
             int64_t ignored) {
  const char *op = "linear_cross_entropy";
  checkLinearLoss(op, hidden, weight, targets, ignored);
  const int64_t tokens = hidden.size(0), vocabulary = weight.size(0);
  const auto numbers = hidden.options().dtype(at::kFloat);
  Tensor losses = at::empty({tokens}, numbers);
  Tensor lse = at::empty({tokens}, numbers);
  if (tokens == 0)
    return {losses, lse};
  const Tensor h = unitLast(hidden), w = unitLast(weight);
  const Tensor wanted = targets.contiguous();
  const int64_t splits = ceilDiv(vocabulary, span);
  const Tensor state = at::empty({3, splits, tokens}, numbers);
  Launch launch(file, "linear_loss_fwd");
  launch.tensor(h).tensor(w).tensor(wanted).tensor(state);
  launch.integer(tokens).integer(vocabulary).integer(span);
  launch.integer(h.stride(0)).integer(w.stride(0));
  launch.constant("D", hidden.size(1));
  launch.run(ceilDiv(tokens, launch.tile("BM")), splits);

  Launch sum(file, "linear_loss_sum");
  sum.tensor(state).tensor(wanted).tensor(lse).tensor(losses);
  sum.integer(tokens).integer(vocabulary).integer(splits).integer(ignored);
  sum.run(ceilDiv(tokens, sum.tile("BC")));
  return {losses, lse};
}

// Writes the gradient of the logits of some tokens to `out`, [tokens, V]. The
// row stride of `out` is a multiple of 16 elements.
void logitsGradient(const Tensor &h, const Tensor &w, const Tensor &targets,
                    const Tensor &lse, const Tensor &grad, int64_t ignored,
                    const Tensor &out) {
  Launch launch(file, "linear_loss_bwd");
  launch.tensor(h).tensor(w).tensor(targets).tensor(lse).tensor(grad);
  launch.tensor(out).integer(h.size(0)).integer(w.size(0)).integer(ignored);
  launch.integer(h.stride(0)).integer(w.stride(0)).integer(out.stride(0));
  launch.constant("D", h.size(1));
  launch.run(ceilDiv(h.size(0), launch.tile("BM")) *
             ceilDiv(w.size(0), launch.tile("BN")));
}

// Returns the gradients of hidden and weight. Our kernel computes the gradient
// of the logits for one chunk of tokens after another; torch computes the two
// products of each chunk, because its products are the fastest. Sums over
// chunks are fp32, in ascending order.
Pair backward(const Tensor &grad, const Tensor &hidden, const Tensor &weight,
              const Tensor &targets, const Tensor &lse, int64_t ignored) {
  const char *op = "linear_cross_entropy_backward";
  const at::NoGradGuard noGrad;
  checkLinearLoss(op, hidden, weight, targets, ignored);
  const int64_t tokens = hidden.size(0), vocabulary = weight.size(0);
  checkShape(op, "grad", grad, {tokens}, "[tokens]");
  checkShape(op, "lse", lse, {tokens}, "[tokens]");
  if (tokens == 0)
    return {at::empty(hidden.sizes(), hidden.options()),
            at::zeros(weight.sizes(), weight.options())};
  const Tensor h = unitLast(hidden), w = unitLast(weight);
  const Tensor wanted = targets.contiguous(), sums = lse.contiguous(),
               scale = grad.to(at::kFloat).contiguous();
  Tensor dh = emptyTensor(hidden.sizes(), hidden.options());
  Tensor dw = emptyTensor(weight.sizes(), weight.options());
  const int64_t piece = lossPiece(tokens, vocabulary);
  const Tensor logits =
      at::empty({piece, keptColumns(vocabulary)}, hidden.options());
  const bool rounds = hidden.scalar_type() != at::kFloat;
  Tensor wide; // fp32 sum of the rounded products of several chunks
  for (int64_t first = 0; first < tokens; first += piece) {
    const int64_t count = std::min(piece, tokens - first);
    const auto part = [&](const Tensor &x) {
      return x.narrow(0, first, count);
    };
    const Tensor dl = logits.narrow(0, 0, count).narrow(1, 0, vocabulary);
    logitsGradient(part(h), w, part(wanted), part(sums), part(scale), ignored,
                   dl);
    Tensor dhPart = part(dh);
    productOut(dhPart, dl, w);
    if (first == 0) {
      productOut(dw, dl.t(), part(h));
    } else if (!rounds) {
      addProduct(dw, dl.t(), part(h));
    } else {
      if (!wide.defined())
        wide = dw.to(at::kFloat);
      wide.add_(product(dl.t(), part(h)));
    }
  }
  if (wide.defined())
    dw.copy_(wide);
  return {dh, dw};
}

Pair meta(const Tensor &hidden, const Tensor &, const Tensor &, int64_t) {
  const auto numbers = hidden.options().dtype(at::kFloat);
  return {at::empty_symint({hidden.sym_size(0)}, numbers),
          at::empty_symint({hidden.sym_size(0)}, numbers)};
}

Pair metaBack(const Tensor &, const Tensor &hidden, const Tensor &weight,
              const Tensor &, const Tensor &, int64_t) {
  return {at::empty_symint(hidden.sym_sizes(), hidden.options()),
          at::empty_symint(weight.sym_sizes(), weight.options())};
}

using Forward = Pair(const Tensor &, const Tensor &, const Tensor &, int64_t);

struct Function : torch::autograd::Function<Function> {
  static variable_list forward(AutogradContext *ctx, const Tensor &hidden,
                               const Tensor &weight, const Tensor &targets,
                               int64_t ignored) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Forward>("linear_cross_entropy_forward");
    auto [losses, lse] = op.call(hidden, weight, targets, ignored);
    ctx->save_for_backward({hidden, weight, targets, lse});
    ctx->saved_data["ignored"] = ignored;
    ctx->mark_non_differentiable({lse});
    return {losses, lse};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op =
        findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, int64_t)>(
            "linear_cross_entropy_backward");
    const variable_list saved = ctx->get_saved_variables();
    auto [dhidden, dweight] =
        op.call(grads[0], saved[0], saved[1], saved[2], saved[3],
                ctx->saved_data["ignored"].toInt());
    return {dhidden, dweight, {}, {}};
  }
};

Pair autograd(const Tensor &hidden, const Tensor &weight, const Tensor &targets,
              int64_t ignored) {
  const variable_list out = Function::apply(hidden, weight, targets, ignored);
  return {out[0], out[1]};
}

Tensor linearCrossEntropy(const Tensor &hidden, const Tensor &weight,
                          const Tensor &targets, int64_t ignored,
                          c10::string_view reduction, bool keepLogits) {
  static const auto op = findOp<Forward>("linear_cross_entropy_forward");
  const char *name = "linear_cross_entropy";
  TESSERA_CHECK(reduction == "mean" || reduction == "sum" ||
                    reduction == "none",
                name, "reduction is \"", reduction,
                "\"; \"mean\", \"sum\" and \"none\" are known");
  // Without a backward pass nothing is gained by logits of all tokens.
  const bool keeps = keepLogits && at::GradMode::is_enabled() &&
                     (hidden.requires_grad() || weight.requires_grad());
  const Tensor losses =
      keeps ? lossOfKeptLogits(hidden, weight, targets, ignored)
            : std::get<0>(op.call(hidden, weight, targets, ignored));
  if (reduction == "none")
    return losses;
  const Tensor sum = losses.sum();
  return reduction == "sum" ? sum : sum / targets.ne(ignored).sum();
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl("linear_cross_entropy", linearCrossEntropy);
}

TESSERA_AUTOGRAD_OP("linear_cross_entropy_forward", forward, meta, autograd);
TESSERA_OP("linear_cross_entropy_backward", backward, metaBack);

} // namespace linear_loss_op
} // namespace
} // namespace tessera::runtime
