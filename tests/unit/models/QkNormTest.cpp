// tests/unit/models/QkNormTest.cpp - model.qk_norm against a forward pass in
// plain torch, and for each branch of NSA.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Transformer.h"
#include "tests/helpers/CloseTensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <map>

using namespace tessera;
using namespace tessera::models;

namespace {

constexpr int64_t tokens = 40;

ModelConfig small(AttentionKind kind) {
  ModelConfig c;
  c.dim = 32;
  c.layers = 1;
  c.heads = 4;
  c.kvHeads = 2;
  c.keyDim = 8;
  c.valueDim = 6;
  c.mlpDim = 64;
  c.qkNorm = true;
  c.attention = kind;
  c.nsa = {8, 4, 8, 4, 12};
  return c;
}

at::Tensor text() {
  return (at::arange(tokens) * 7919 + 13).remainder(251).view({1, tokens});
}

using Weights = std::map<std::string, at::Tensor>;

/// Moves every weight away from its initial value, so that factors that begin
/// as ones differ.
Weights perturbed(Transformer &model) {
  const at::NoGradGuard noGrad;
  at::manual_seed(3);
  Weights all;
  for (Parameter &p : model.parameters()) {
    p.value.add_(at::randn(p.value.sizes()), 0.2);
    all[p.name] = p.value.detach().to(at::kDouble);
  }
  return all;
}

at::Tensor normed(const at::Tensor &x, const at::Tensor &weight) {
  return x / (x.square().mean(-1, true) + 1e-6).sqrt() * weight;
}

/// Rotates [tokens, heads, 8] with base 10000 as complex numbers.
at::Tensor turned(const at::Tensor &x) {
  const at::Tensor angle = at::arange(tokens, at::kDouble).unsqueeze(1) *
                           at::pow(10000.0, at::arange(4, at::kDouble) * -0.25);
  const at::Tensor pairs =
      at::view_as_complex(x.unflatten(2, {4, 2}).contiguous());
  return at::view_as_real(pairs *
                          at::polar(at::ones_like(angle), angle).unsqueeze(1))
      .flatten(2);
}

TEST(QkNorm, IsItsFormulaInADenseLayer) {
  Transformer model(small(AttentionKind::Dense), KernelSource::Torch, 1);
  const Weights w = perturbed(model);
  const auto of = [&](const char *name) {
    return w.at(std::string("blocks.0.") + name);
  };
  at::Tensor x = w.at("embedding").index_select(0, text().flatten());
  const std::vector<at::Tensor> qkv =
      at::linear(normed(x, of("attention.norm")), of("attention.qkv"))
          .split_with_sizes({32, 16, 12}, 1);
  const auto heads = [&](const at::Tensor &t, int64_t count) {
    return t.reshape({tokens, count, -1});
  };
  const at::Tensor q = turned(normed(heads(qkv[0], 4), of("attention.q_norm"))),
                   k = turned(normed(heads(qkv[1], 2), of("attention.k_norm"))),
                   v = heads(qkv[2], 2);
  const at::Tensor hidden = at::ones({tokens, tokens}, at::kBool).triu(1);
  std::vector<at::Tensor> outputs;
  for (int64_t h = 0; h < 4; ++h) {
    const at::Tensor scores =
        at::mm(q.select(1, h), k.select(1, h / 2).t()) / std::sqrt(8.0);
    outputs.push_back(
        at::mm(at::softmax(scores.masked_fill(hidden, -INFINITY), 1),
               v.select(1, h / 2)));
  }
  x = x + at::linear(at::cat(outputs, 1), of("attention.output"));
  x = x +
      at::linear(at::relu(at::linear(normed(x, of("mlp.norm")), of("mlp.in")))
                     .square(),
                 of("mlp.out"));
  const at::Tensor expected = at::linear(normed(x, w.at("norm")), w.at("head"));
  EXPECT_TRUE(isClose(model.forward(text()).logits[0], expected, 1e-5));
}

// A factor of one head's rows does not reach the logits: neither of queries nor
// of the keys that the compressed, the selected or the window branch reads.
TEST(QkNorm, TakesTheSizeOutOfEveryBranch) {
  for (const bool norm : {true, false})
    for (int64_t head = 0; head < 4 + 3 * 2; ++head) {
      ModelConfig c = small(AttentionKind::Nsa);
      c.qkNorm = norm;
      c.normEpsilon = 1e-12;
      Transformer model(c, KernelSource::Torch, 1);
      perturbed(model);
      const at::NoGradGuard noGrad;
      const at::Tensor before = model.forward(text()).logits;
      for (Parameter &p : model.parameters())
        if (p.name.ends_with("qkv"))
          p.value.narrow(0, head * 8, 8).mul_(3);
      const at::Tensor after = model.forward(text()).logits;
      const double change = (after - before).abs().max().item<double>();
      if (norm)
        EXPECT_LT(change, 1e-4) << head;
      else
        EXPECT_GT(change, 1e-3) << head;
    }
}

} // namespace
