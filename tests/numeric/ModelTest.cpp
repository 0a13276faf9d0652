// tests/numeric/ModelTest.cpp - the model's attention by compiled kernels and
// in plain torch: which branch is zeroed, which blocks are forced.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Cache.h"
#include "models/Transformer.h"
#include "tests/helpers/CloseTensors.h"
#include "tests/numeric/Harness.h"

#include <ATen/ATen.h>
#include <set>

using namespace tessera;
using namespace tessera::models;

namespace {

constexpr int64_t sequences = 2, length = 45, tokens = sequences * length,
                  heads = 4, keyHeads = 2, dim = 16;

ModelConfig configOf(GateMode mode) {
  ModelConfig config;
  config.heads = heads;
  config.kvHeads = keyHeads;
  config.keyDim = config.valueDim = dim;
  config.gateMode = mode;
  config.nsa = {8, 4, 8, 4, 7, 1, 2};
  return config;
}

NsaInputs inputs() {
  const auto random = [](int64_t rows, uint64_t seed) {
    return numeric::noise({tokens, rows, dim}, at::kFloat, seed);
  };
  return {random(heads, 1),
          random(keyHeads, 2),
          random(keyHeads, 3),
          random(keyHeads, 4),
          random(keyHeads, 5),
          random(keyHeads, 6),
          random(keyHeads, 7),
          numeric::noise({tokens, keyHeads, 3}, at::kFloat, 8),
          {},
          {}};
}

NsaResult attend(KernelSource source, const NsaInputs &in,
                 const ModelConfig &config) {
  return makeKernels(source)->nsaAttention(
      in, config, Packing(sequences, length, config.nsa));
}

// A sigmoid's gate shuts by itself; with a softmax the others are as they were.
TEST(ModelEdges, TheBranchThatIsNamedIsZeroed) {
  for (const KernelSource source : {KernelSource::Tessera, KernelSource::Torch})
    for (const GateMode mode : {GateMode::Sigmoid, GateMode::Softmax})
      for (int branch : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << int(source) << int(mode) << branch);
        const ModelConfig config = configOf(mode);
        NsaInputs in = inputs();
        const at::Tensor all = attend(source, in, config).output;
        in.without = branch;
        const at::Tensor less = attend(source, in, config).output;
        EXPECT_GT(compareTensors(less, all, 0.05).rms, 0.05);
        // What is missing is the gated output of that branch alone.
        ModelConfig gated = configOf(GateMode::Sigmoid);
        NsaInputs shut = inputs();
        shut.gateLogits =
            mode == GateMode::Sigmoid
                ? shut.gateLogits
                : at::logit(at::softmax(shut.gateLogits, -1).to(at::kDouble))
                      .to(at::kFloat);
        EXPECT_TRUE(isClose(attend(source, shut, gated).output, all, 1e-5));
        shut.gateLogits.select(2, branch).fill_(-200);
        EXPECT_TRUE(isClose(less, attend(source, shut, gated).output, 1e-5));
      }
}

// Documents packed in two rows: loss and gradients of each by itself, with
// either kind of kernels. One is empty, one is shorter than a compressed block,
// one has one token.
TEST(ModelEdges, PackedDocumentsAreThoseAlone) {
  const std::vector<int32_t> starts = {0, 19, 20, 20, 26, 40, 80};
  const at::Tensor tokens = (at::arange(80) * 31 + 7).remainder(61);
  const at::Tensor targets = (at::arange(80) * 17 + 3).remainder(61);
  for (const AttentionKind kind : {AttentionKind::Nsa, AttentionKind::Dense}) {
    ModelConfig config = configOf(GateMode::Sigmoid);
    config.attention = kind;
    config.layers = 1;
    config.dim = config.mlpDim = 16;
    config.vocabulary = 64;
    config.compression = Compression::Convolution;
    Transformer alone(config, KernelSource::Torch, 1);
    at::Tensor sum = at::zeros({});
    const auto loss = [&](const at::Tensor &logits, const at::Tensor &of) {
      return at::cross_entropy_loss(logits.flatten(0, 1), of, {},
                                    at::Reduction::Sum);
    };
    for (size_t i = 1; i < starts.size(); ++i)
      if (starts[i] > starts[i - 1])
        sum =
            sum +
            loss(alone
                     .forward(
                         tokens.slice(0, starts[i - 1], starts[i]).unsqueeze(0))
                     .logits,
                 targets.slice(0, starts[i - 1], starts[i]));
    sum.backward();
    for (const KernelSource source :
         {KernelSource::Torch, KernelSource::Tessera}) {
      SCOPED_TRACE(testing::Message() << int(kind) << ' ' << int(source));
      Transformer packed(config, source, 1);
      ForwardOptions options;
      options.starts = starts;
      const at::Tensor all =
          loss(packed.forward(tokens.view({2, 40}), options).logits, targets);
      all.backward();
      EXPECT_NEAR((all / sum).item<double>(), 1, 1e-5);
      for (size_t i = 0; i < packed.parameters().size(); ++i)
        EXPECT_TRUE(isClose(packed.parameters()[i].value.grad(),
                            alone.parameters()[i].value.grad(), 1e-4))
            << packed.parameters()[i].name;
    }
  }
}

// Compiled kernels give the same bits each time, and so the same gradients
// where activations are computed again.
TEST(ModelEdges, RecomputeChangesNoBit) {
  const at::Tensor tokens = (at::arange(90) * 31 + 7).remainder(61);
  const at::Tensor targets = (at::arange(90) * 17 + 3).remainder(61);
  ModelConfig config = configOf(GateMode::Sigmoid);
  config.layers = 2;
  config.dim = config.mlpDim = 16;
  config.vocabulary = 64;
  const auto gradients = [&](Recompute level) {
    config.recompute = level;
    Transformer model(config, KernelSource::Tessera, 1);
    at::cross_entropy_loss(
        model.forward(tokens.view({2, 45})).logits.flatten(0, 1), targets)
        .backward();
    std::vector<at::Tensor> all;
    for (const Parameter &p : model.parameters())
      all.push_back(p.value.grad());
    return all;
  };
  const std::vector<at::Tensor> kept = gradients(Recompute::None);
  for (const Recompute level :
       {Recompute::Mlp, Recompute::Attention, Recompute::Full}) {
    const std::vector<at::Tensor> again = gradients(level);
    for (size_t i = 0; i < kept.size(); ++i)
      EXPECT_TRUE(again[i].equal(kept[i])) << int(level) << ' ' << i;
  }
}

// The attention of one token over a cache is compiled, its keys split: it gives
// what plain torch gives there, and what the forward pass over all tokens does.
TEST(DecodeEdges, TokenByTokenIsTheForwardPass) {
  constexpr int64_t batch = 2, all = 600, read = 594;
  const at::Tensor tokens =
      ((at::arange(batch * all) * 31 + 7) % 61).view({batch, all});
  for (const AttentionKind kind : {AttentionKind::Nsa, AttentionKind::Dense}) {
    ModelConfig config = configOf(GateMode::Sigmoid);
    config.attention = kind;
    config.nsa.window = 530; // of two shares
    config.nsa.selectedBlocks = 40;
    config.layers = 2;
    config.dim = config.mlpDim = 16;
    config.vocabulary = 64;
    const at::NoGradGuard noGrad;
    const auto byToken = [&](KernelSource source) {
      Transformer model(config, source, 1);
      Cache cache(config, batch, all);
      model.extend(tokens.slice(1, 0, read), cache);
      std::vector<at::Tensor> logits;
      for (int64_t t = read; t < all; ++t)
        logits.push_back(model.extend(tokens.slice(1, t, t + 1), cache));
      return std::pair(at::cat(logits, 1), cache.reads().total());
    };
    const auto [compiled, reads] = byToken(KernelSource::Tessera);
    const auto [again, readsAgain] = byToken(KernelSource::Tessera);
    const auto [torch, torchReads] = byToken(KernelSource::Torch);
    EXPECT_TRUE(compiled.equal(again)) << int(kind);
    EXPECT_TRUE(isClose(compiled, torch, 1e-5)) << int(kind);
    EXPECT_EQ(reads, torchReads) << int(kind);
    const at::Tensor whole =
        Transformer(config, KernelSource::Tessera, 1).forward(tokens).logits;
    EXPECT_TRUE(isClose(compiled, whole.slice(1, read, all), 1e-5))
        << int(kind);
  }
}

TEST(ModelEdges, ForcedBlocksAreThoseOfTheConfig) {
  for (const auto &[initial, local] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 0}, {0, 1}, {1, 0}, {2, 2}, {3, 1}, {1, 3}, {0, 4}}) {
    SCOPED_TRACE(testing::Message() << initial << ' ' << local);
    ModelConfig config = configOf(GateMode::Softmax);
    config.nsa.initialBlocks = initial;
    config.nsa.localBlocks = local;
    const at::Tensor got =
        attend(KernelSource::Tessera, inputs(), config).indices;
    EXPECT_TRUE(
        got.equal(attend(KernelSource::Torch, inputs(), config).indices));
    int64_t unforced = 0; // entries that the scores decide
    for (int64_t h = 0; h < keyHeads; ++h)
      for (int64_t t = 0; t < tokens; ++t) {
        const int64_t current = t % length / config.nsa.selectionLength;
        std::set<int64_t> chosen, forced;
        for (int64_t slot = 0; slot < got.size(2); ++slot)
          chosen.insert(got[h][t][slot].item<int64_t>());
        for (int64_t j = 0; j <= current; ++j)
          if (j < initial || j > current - local)
            forced.insert(j);
        for (int64_t j : forced)
          EXPECT_TRUE(chosen.count(j)) << h << ' ' << t << ' ' << j;
        unforced += int64_t(chosen.size() - forced.size());
      }
    EXPECT_GT(unforced, 0);
  }
}

} // namespace
