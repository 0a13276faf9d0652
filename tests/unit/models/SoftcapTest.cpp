// tests/unit/models/SoftcapTest.cpp - model.logit_softcap against
// cap * tanh(logits / cap) in plain torch, with logits and without.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Loss.h"
#include "models/SoftcapLoss.h"
#include "tests/helpers/CloseTensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::models;

namespace {

TEST(Softcap, LogitsAreThoseOfTheFormula) {
  ModelConfig c;
  c.attention = AttentionKind::Dense;
  c.layers = 1;
  const at::NoGradGuard noGrad;
  const at::Tensor text = at::arange(40).view({2, 20});
  Transformer plain(c, KernelSource::Torch, 1);
  c.logitSoftcap = 0.3;
  Transformer capped(c, KernelSource::Torch, 1);
  const at::Tensor logits = plain.forward(text).logits.to(at::kDouble);
  ASSERT_GT(logits.abs().max().item<double>(), 0.3);
  EXPECT_TRUE(
      isClose(capped.forward(text).logits, (logits / 0.3).tanh() * 0.3, 1e-5));
}

// Several chunks, the last one shorter; tokens without a target; a gradient
// that differs from token to token.
TEST(Softcap, ChunksOfALossAreTheFormula) {
  constexpr int64_t vocabulary = 4096, count = 2100, dim = 3;
  ASSERT_EQ(softcapRows(vocabulary), 1024);
  at::manual_seed(4);
  const double cap = 2;
  const at::Tensor x = at::randn({count, dim}),
                   w = at::randn({vocabulary, dim}),
                   factors = at::rand({count});
  at::Tensor targets = at::randint(vocabulary, {count}, at::kLong);
  targets[2] = targets[1500] = noTarget;
  std::vector<at::Tensor> found, expected;
  for (const bool chunks : {true, false}) {
    const auto type = chunks ? at::kFloat : at::kDouble;
    const at::Tensor hidden = x.to(type).clone().set_requires_grad(true),
                     weight = w.to(type).clone().set_requires_grad(true);
    const at::Tensor losses =
        chunks ? softcapLoss(hidden, weight, targets, cap)
               : at::cross_entropy_loss(
                     at::tanh(at::mm(hidden, weight.t()) / cap) * cap, targets,
                     {}, at::Reduction::None, noTarget);
    (losses * factors).sum().backward();
    (chunks ? found : expected) = {losses.detach(), hidden.grad(),
                                   weight.grad()};
  }
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(isClose(found[i], expected[i], 1e-5)) << i;
  EXPECT_EQ(found[0][2].item<float>(), 0);
}

// The model's loss is the same with and without stored logits.
TEST(Softcap, AFusedLossIsThatOfTheLogits) {
  std::vector<std::vector<at::Tensor>> results;
  for (const FusedLoss fused : {FusedLoss::On, FusedLoss::Off}) {
    ModelConfig c;
    c.attention = AttentionKind::Dense;
    c.layers = 1;
    c.logitSoftcap = 0.3;
    c.fusedLoss = fused;
    Transformer model(c, KernelSource::Torch, 1);
    ForwardOptions options;
    options.targets = at::arange(40).remainder(7).view({2, 20});
    const at::Tensor loss = meanLoss(
        model.forward(at::arange(40).view({2, 20}), options), options.targets);
    loss.backward();
    results.push_back({loss.detach()});
    for (const Parameter &p : model.parameters())
      results.back().push_back(p.value.grad());
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_TRUE(isClose(results[0][i], results[1][i], 1e-5)) << i;
}

} // namespace
