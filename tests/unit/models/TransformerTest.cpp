// tests/unit/models/TransformerTest.cpp - gradients, causality, seeds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Transformer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

using namespace tessera::models;

namespace {

ModelConfig small(AttentionKind kind) {
  ModelConfig c;
  c.dim = 32;
  c.layers = 2;
  c.heads = 4;
  c.kvHeads = 2;
  c.keyDim = 8;
  c.valueDim = 8;
  c.mlpDim = 64;
  c.attention = kind;
  c.nsa = {8, 4, 16, 4, 16};
  return c;
}

at::Tensor text(int64_t rows, int64_t length) {
  return (at::arange(rows * length) * 7919 + 13)
      .remainder(251)
      .view({rows, length});
}

class EveryAttention : public testing::TestWithParam<AttentionKind> {};

TEST_P(EveryAttention, EveryParameterGetsAGradient) {
  for (const bool tied : {false, true})
    for (const Compression phi :
         {Compression::Average, Compression::Convolution})
      for (const GateInput input : {GateInput::Hidden, GateInput::QueryMean}) {
        ModelConfig c = small(GetParam());
        c.tiedHead = tied;
        c.compression = phi;
        c.gateInput = input;
        Transformer model(c, KernelSource::Torch, 1);
        const at::Tensor tokens = text(2, 129);
        const at::Tensor logits = model.forward(tokens.slice(1, 0, 128)).logits;
        at::cross_entropy_loss(logits.flatten(0, 1),
                               tokens.slice(1, 1).flatten())
            .backward();
        for (const Parameter &p : model.parameters()) {
          ASSERT_TRUE(p.value.grad().defined()) << p.name;
          EXPECT_GT(p.value.grad().abs().max().item<double>(), 0) << p.name;
          EXPECT_TRUE(at::isfinite(p.value.grad()).all().item<bool>())
              << p.name;
          // A matrix whose rows are shared by branches must not hide one that
          // learns nothing.
          if (p.name.find("qkv") != std::string::npos) {
            EXPECT_GT(p.value.grad().abs().amax(1).min().item<double>(), 0)
                << p.name;
          }
        }
      }
}

TEST_P(EveryAttention, LaterBytesDoNotReachEarlierOnes) {
  const at::NoGradGuard noGrad;
  Transformer model(small(GetParam()), KernelSource::Torch, 1);
  at::Tensor tokens = text(1, 100);
  const at::Tensor before = model.forward(tokens).logits;
  tokens[0][60] = (tokens[0][60] + 1).remainder(256);
  const at::Tensor after = model.forward(tokens).logits;
  EXPECT_LT((before - after).slice(1, 0, 60).abs().max().item<double>(), 1e-6);
  EXPECT_GT((before - after).slice(1, 60).abs().max().item<double>(), 1e-4);
}

TEST_P(EveryAttention, ASeedFixesTheWeights) {
  const ModelConfig c = small(GetParam());
  const Transformer a(c, KernelSource::Torch, 5), b(c, KernelSource::Torch, 5),
      other(c, KernelSource::Torch, 6);
  bool different = false;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(a.parameters()[i].value, b.parameters()[i].value));
    different |=
        !at::equal(a.parameters()[i].value, other.parameters()[i].value);
  }
  EXPECT_TRUE(different);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryAttention,
                         testing::Values(AttentionKind::Nsa,
                                         AttentionKind::Dense,
                                         AttentionKind::Sdpa));

TEST(Transformer, DenseAndSdpaAreTheSameModel) {
  const at::NoGradGuard noGrad;
  Transformer dense(small(AttentionKind::Dense), KernelSource::Torch, 3);
  Transformer sdpa(small(AttentionKind::Sdpa), KernelSource::Torch, 3);
  const at::Tensor tokens = text(2, 64);
  EXPECT_LT((dense.forward(tokens).logits - sdpa.forward(tokens).logits)
                .abs()
                .max()
                .item<double>(),
            1e-5);
}

TEST(Transformer, ABranchCanBeZeroedAndIndicesKept) {
  const at::NoGradGuard noGrad;
  Transformer model(small(AttentionKind::Nsa), KernelSource::Torch, 3);
  const at::Tensor tokens = text(2, 64);
  const ForwardResult all = model.forward(tokens, {-1, true});
  ASSERT_EQ(all.indices.size(), 2u);
  EXPECT_EQ(all.indices[0].sizes(), (std::vector<int64_t>{2, 128, 4}));
  for (int branch : {0, 1, 2}) {
    const ForwardResult less = model.forward(tokens, {branch, false});
    EXPECT_TRUE(less.indices.empty());
    EXPECT_FALSE(at::equal(less.logits, all.logits));
  }
}

} // namespace
