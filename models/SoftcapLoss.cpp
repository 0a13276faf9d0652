// models/SoftcapLoss.cpp - the autograd function that computes softcapped
// logits in chunks of tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SoftcapLoss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <vector>

namespace tessera::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t ignored = -100;

struct ChunkedLoss : torch::autograd::Function<ChunkedLoss> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &hidden,
                            const at::Tensor &weight, const at::Tensor &targets,
                            double cap) {
    ctx->save_for_backward({hidden, weight, targets});
    ctx->saved_data["cap"] = cap;
    const int64_t rows = softcapRows(weight.size(0));
    std::vector<at::Tensor> losses = {
        at::zeros({0}, hidden.options().dtype(at::kFloat))};
    for (int64_t from = 0; from < hidden.size(0); from += rows) {
      const at::Tensor logits =
          at::linear(hidden.slice(0, from, from + rows), weight);
      losses.push_back(
          at::cross_entropy_loss(softcapped(logits, cap).to(at::kFloat),
                                 targets.slice(0, from, from + rows), {},
                                 at::Reduction::None, ignored));
    }
    return at::cat(losses);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1],
                     &targets = saved[2];
    const double cap = ctx->saved_data["cap"].toDouble();
    const int64_t rows = softcapRows(weight.size(0));
    const at::Tensor ofHidden = at::empty_like(hidden);
    const at::Tensor ofWeight =
        at::zeros(weight.sizes(), weight.options().dtype(at::kFloat));
    for (int64_t from = 0; from < hidden.size(0); from += rows) {
      const at::Tensor x = hidden.slice(0, from, from + rows);
      const at::Tensor target = targets.slice(0, from, from + rows);
      const at::Tensor live = target.ne(ignored);
      const at::Tensor capped =
          softcapped(at::linear(x, weight), cap).to(at::kFloat);
      // d loss / d capped = softmax - onehot; d capped / d logits = 1 - tanh^2.
      at::Tensor g = at::softmax(capped, 1);
      g.scatter_add_(1, target.clamp_min(0).unsqueeze(1),
                     at::full({target.size(0), 1}, -1.0, g.options()));
      g.mul_(1 - (capped / cap).square());
      g.mul_((grads[0].slice(0, from, from + rows) * live).unsqueeze(1));
      const at::Tensor rounded = g.to(weight.scalar_type());
      ofHidden.slice(0, from, from + rows).copy_(at::mm(rounded, weight));
      ofWeight.add_(at::mm(rounded.t(), x));
    }
    return {ofHidden, ofWeight.to(weight.scalar_type()), {}, {}};
  }
};

} // namespace

at::Tensor softcapped(const at::Tensor &logits, double cap) {
  return at::tanh(logits / cap) * cap;
}

at::Tensor softcapLoss(const at::Tensor &hidden, const at::Tensor &weight,
                       const at::Tensor &targets, double cap) {
  return ChunkedLoss::apply(hidden, weight, targets, cap);
}

} // namespace tessera::models
