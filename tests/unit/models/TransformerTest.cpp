// tests/unit/models/TransformerTest.cpp - gradients, causality, seeds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Loss.h"

#include "support/Error.h"
#include "tests/helpers/CloseTensors.h"
#include "tests/unit/models/CountedMemory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <gtest/gtest.h>
#include <tuple>

using namespace tessera;
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

/// Attention, and whether the model has value and bigram embeddings.
class EveryAttention
    : public testing::TestWithParam<std::tuple<AttentionKind, bool>> {
protected:
  static ModelConfig smallOne() {
    ModelConfig c = small(std::get<0>(GetParam()));
    if (std::get<1>(GetParam())) {
      c.valueEmbeddings.listed = {0};
      c.bigramEmbeddings = 61;
    }
    return c;
  }
};

TEST_P(EveryAttention, EveryParameterGetsAGradient) {
  for (const bool tied : {false, true})
    for (const Compression phi :
         {Compression::Average, Compression::Convolution, Compression::Mlp})
      for (const GateInput input : {GateInput::Hidden, GateInput::QueryMean}) {
        ModelConfig c = smallOne();
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

/// The value of a parameter by the end of its name.
at::Tensor valueOf(const Transformer &model, const std::string &name) {
  for (const Parameter &p : model.parameters())
    if (p.name.ends_with(name))
      return p.value.detach();
  ADD_FAILURE() << name;
  return {};
}

// With the window as long as the sequence the window branch is dense attention
// with the queries and the third keys and values of the projection.
TEST(Gates, TheWindowAloneIsDenseAttention) {
  const at::NoGradGuard noGrad;
  for (const GateMode mode : {GateMode::Sigmoid, GateMode::Softmax}) {
    ModelConfig c = small(AttentionKind::Nsa);
    c.layers = 1;
    c.nsa.window = 64;
    c.gateMode = mode;
    c.gateOverride = GateOverride::Window;
    const ModelConfig dense = [&] {
      ModelConfig d = c;
      d.attention = AttentionKind::Dense;
      return d;
    }();
    Transformer sparse(c, KernelSource::Torch, 1),
        other(dense, KernelSource::Torch, 2);
    for (const char *name :
         {"embedding", "attention.norm", "attention.output", "mlp.norm",
          "mlp.in", "mlp.out", "0.mlp.norm", "head"})
      valueOf(other, name).copy_(valueOf(sparse, name));
    // Rows: 4 queries and 3 x 2 keys of 8 channels, 3 x 2 values.
    const at::Tensor rows = valueOf(sparse, "attention.qkv");
    valueOf(other, "attention.qkv")
        .copy_(at::cat({rows.slice(0, 0, 32), rows.slice(0, 64, 80),
                        rows.slice(0, 112, 128)}));
    const at::Tensor tokens = text(2, 64);
    EXPECT_LT((sparse.forward(tokens).logits - other.forward(tokens).logits)
                  .abs()
                  .max()
                  .item<double>(),
              1e-5);
  }
}

TEST(Gates, ABranchThatIsNotUsedHasAGateOfZero) {
  const at::NoGradGuard noGrad;
  const at::Tensor tokens = text(2, 64);
  for (int branch = 0; branch < 3; ++branch) {
    ModelConfig c = small(AttentionKind::Nsa);
    Transformer all(c, KernelSource::Torch, 1);
    (branch == 0   ? c.useCompressed
     : branch == 1 ? c.useSelected
                   : c.useWindow) = false;
    Transformer some(c, KernelSource::Torch, 1);
    ForwardOptions without;
    without.without = branch;
    EXPECT_TRUE(
        some.forward(tokens).logits.equal(all.forward(tokens, without).logits))
        << branch;
    EXPECT_FALSE(some.forward(tokens).logits.equal(all.forward(tokens).logits));
  }
}

// Whatever the weights of the gates are.
TEST(Gates, UniformOnesDoNotDependOnTheirWeights) {
  const at::NoGradGuard noGrad;
  ModelConfig c = small(AttentionKind::Nsa);
  c.gateOverride = GateOverride::Uniform;
  c.gateMode = GateMode::Softmax;
  Transformer model(c, KernelSource::Torch, 1);
  const at::Tensor tokens = text(2, 64);
  const at::Tensor before = model.forward(tokens).logits;
  valueOf(model, "0.gate.out_bias").fill_(3);
  valueOf(model, "1.gate.out").normal_();
  EXPECT_TRUE(model.forward(tokens).logits.equal(before));
}

// One layer without attention, by its formula.
TEST(Mlp, EachKindIsItsFormula) {
  const at::NoGradGuard noGrad;
  for (const MlpKind kind :
       {MlpKind::SquaredRelu, MlpKind::Silu, MlpKind::SwiGlu}) {
    ModelConfig c = small(AttentionKind::Dense);
    c.layers = 1;
    c.mlp = kind;
    Transformer model(c, KernelSource::Torch, 1);
    valueOf(model, "attention.output").zero_();
    const at::Tensor tokens = text(1, 16);
    const auto norm = [&](const at::Tensor &x) {
      return x / (x.square().mean(-1, true) + c.normEpsilon).sqrt();
    };
    const auto wide = [&](const char *name) {
      return valueOf(model, name).to(at::kDouble);
    };
    const at::Tensor x = wide("embedding").index_select(0, tokens[0]);
    const at::Tensor in = norm(x).matmul(wide("mlp.in").t());
    const auto silu = [](const at::Tensor &y) { return y / (1 + (-y).exp()); };
    const at::Tensor hidden =
        kind == MlpKind::SquaredRelu ? in.clamp_min(0) * in.clamp_min(0)
        : kind == MlpKind::Silu
            ? silu(in)
            : silu(norm(x).matmul(wide("mlp.gated").t())) * in;
    const at::Tensor logits =
        norm(x + hidden.matmul(wide("mlp.out").t())).matmul(wide("head").t());
    EXPECT_LT(
        (model.forward(tokens).logits[0] - logits).abs().max().item<double>(),
        1e-5)
        << int(kind);
  }
}

TEST_P(EveryAttention, LaterBytesDoNotReachEarlierOnes) {
  const at::NoGradGuard noGrad;
  Transformer model(smallOne(), KernelSource::Torch, 1);
  at::Tensor tokens = text(1, 100);
  const at::Tensor before = model.forward(tokens).logits;
  tokens[0][60] = (tokens[0][60] + 1).remainder(256);
  const at::Tensor after = model.forward(tokens).logits;
  EXPECT_LT((before - after).slice(1, 0, 60).abs().max().item<double>(), 1e-6);
  EXPECT_GT((before - after).slice(1, 60).abs().max().item<double>(), 1e-4);
}

// Documents in one row, and nothing of the one is in the other: losses and
// gradients are those of each by itself.
TEST_P(EveryAttention, PackedDocumentsAreThoseAlone) {
  for (const Compression phi : {Compression::Convolution, Compression::Mlp}) {
    ModelConfig c = smallOne();
    c.compression = phi;
    Transformer packed(c, KernelSource::Torch, 1),
        alone(c, KernelSource::Torch, 1);
    const std::vector<int32_t> starts = {0, 37, 38, 38, 64, 128};
    const at::Tensor tokens = text(2, 64), targets = text(2, 65).slice(1, 1);
    ForwardOptions options;
    options.starts = starts;
    const at::Tensor logits = packed.forward(tokens, options).logits;
    EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 64, 256}));
    at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {},
                           at::Reduction::Sum)
        .backward();
    for (size_t i = 1; i < starts.size(); ++i) {
      if (starts[i] == starts[i - 1])
        continue;
      const auto part = [&](const at::Tensor &x) {
        return x.slice(0, starts[i - 1], starts[i]);
      };
      const at::Tensor one =
          alone.forward(part(tokens.flatten()).unsqueeze(0)).logits[0];
      EXPECT_LT((one - part(logits.flatten(0, 1))).abs().max().item<double>(),
                1e-5)
          << i;
      at::cross_entropy_loss(one, part(targets.flatten()), {},
                             at::Reduction::Sum)
          .backward();
    }
    for (size_t i = 0; i < packed.parameters().size(); ++i) {
      EXPECT_TRUE(isClose(packed.parameters()[i].value.grad(),
                          alone.parameters()[i].value.grad(), 1e-5))
          << packed.parameters()[i].name;
    }
  }
}

/// All gradients of a batch of two rows, of which the last document is
/// shorter.
std::vector<at::Tensor> gradients(const ModelConfig &c, bool packed) {
  Transformer model(c, KernelSource::Torch, 1);
  const at::Tensor tokens = text(2, 97);
  ForwardOptions options;
  if (packed)
    options.starts = {0, 70, 96, 130, 192};
  const at::Tensor logits =
      model.forward(tokens.slice(1, 0, 96), options).logits;
  at::cross_entropy_loss(logits.flatten(0, 1), tokens.slice(1, 1).flatten())
      .backward();
  std::vector<at::Tensor> all = {logits.detach()};
  for (const Parameter &p : model.parameters())
    all.push_back(p.value.grad());
  return all;
}

// With and without logits: the same loss, mean or of each token, and the same
// gradients; tokens without a target do not count.
TEST_P(EveryAttention, AFusedLossIsThatOfTheLogits) {
  ModelConfig c = smallOne();
  const at::Tensor tokens = text(2, 97), inputs = tokens.slice(1, 0, 96);
  const at::Tensor targets = tokens.slice(1, 1).clone();
  targets.slice(1, 90).fill_(noTarget);
  struct Found {
    at::Tensor mean, each;
    std::vector<at::Tensor> gradients;
  };
  const auto find = [&](FusedLoss fused) {
    c.fusedLoss = fused;
    Transformer model(c, KernelSource::Torch, 1);
    ForwardOptions options;
    options.targets = targets;
    const ForwardResult result = model.forward(inputs, options);
    EXPECT_EQ(result.logits.defined(), fused != FusedLoss::On);
    Found found{meanLoss(result, targets), tokenLosses(result, targets), {}};
    found.mean.backward();
    for (const Parameter &p : model.parameters())
      found.gradients.push_back(p.value.grad());
    return found;
  };
  const Found with = find(FusedLoss::Auto), without = find(FusedLoss::On);
  EXPECT_NEAR(without.mean.item<double>(), with.mean.item<double>(), 1e-6);
  EXPECT_LT((without.each - with.each).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(with.each.ne(0).sum().item<int64_t>(), 2 * 90);
  for (size_t i = 0; i < with.gradients.size(); ++i)
    EXPECT_TRUE(isClose(without.gradients[i], with.gradients[i], 1e-5)) << i;
}

// Each block by itself: a function that runs the last one for all gives other
// gradients in the blocks before.
TEST_P(EveryAttention, RecomputeChangesNoBit) {
  for (const auto &[mlp, phi] :
       {std::pair(MlpKind::SquaredRelu, Compression::Convolution),
        std::pair(MlpKind::SwiGlu, Compression::Mlp)})
    for (const bool packed : {false, true}) {
      ModelConfig c = smallOne();
      c.layers = 3;
      c.mlp = mlp;
      c.compression = phi;
      const std::vector<at::Tensor> kept = gradients(c, packed);
      for (const Recompute level :
           {Recompute::Mlp, Recompute::Attention, Recompute::Full}) {
        c.recompute = level;
        const std::vector<at::Tensor> again = gradients(c, packed);
        ASSERT_EQ(again.size(), kept.size());
        for (size_t i = 0; i < kept.size(); ++i)
          EXPECT_TRUE(again[i].equal(kept[i])) << int(level) << ' ' << i;
      }
    }
}

// What is kept between the passes, and the most there is at any time.
TEST(Recompute, TakesLessMemory) {
  struct Bytes {
    int64_t kept, most;
  };
  const auto measure = [](Recompute level) {
    ModelConfig c = small(AttentionKind::Dense);
    c.layers = 8;
    c.mlpDim = 128;
    c.recompute = level;
    Transformer model(c, KernelSource::Torch, 1);
    const at::Tensor tokens = text(1, 257);
    const CountedMemory memory;
    const int64_t start = CountedMemory::now;
    CountedMemory::most = start;
    at::Tensor loss = at::cross_entropy_loss(
        model.forward(tokens.slice(1, 0, 256)).logits.flatten(0, 1),
        tokens.slice(1, 1).flatten());
    const int64_t kept = CountedMemory::now - start;
    loss.backward();
    const Bytes bytes{kept, CountedMemory::most - start};
    for (const Parameter &p : model.parameters())
      p.value.mutable_grad() = at::Tensor();
    return bytes;
  };
  const Bytes none = measure(Recompute::None), mlp = measure(Recompute::Mlp),
              attention = measure(Recompute::Attention),
              full = measure(Recompute::Full);
  // The hidden layer before and after its square: 8 x 256 x 2 x 128 numbers,
  // less the input of the second norm, which is kept instead.
  EXPECT_GT(none.kept - mlp.kept, 8 * 256 * 256 * 4);
  EXPECT_GT(none.kept - attention.kept, 8 * 256 * 256 * 4);
  // A number of 32 channels for each token and block, and what is not of the
  // blocks: two norms, logits and their log-softmax.
  EXPECT_LT(full.kept, (8 + 4) * 256 * 32 * 4 + 3 * 256 * 256 * 4);
  EXPECT_LT(2 * full.most, none.most);
  EXPECT_LT(mlp.most, none.most);
  EXPECT_LT(attention.most, none.most);
}

/// Logits of tokens [B, S], read into a cache in pieces of these lengths, over
/// and over.
at::Tensor inPieces(Transformer &model, const at::Tensor &tokens,
                    const std::vector<int64_t> &lengths, Reads *reads) {
  Cache cache(model.config(), tokens.size(0), tokens.size(1));
  std::vector<at::Tensor> parts;
  for (size_t i = 0; cache.length() < tokens.size(1); ++i) {
    const int64_t first = cache.length();
    const int64_t count =
        std::min(lengths[i % lengths.size()], tokens.size(1) - first);
    parts.push_back(model.extend(tokens.slice(1, first, first + count), cache));
  }
  if (reads)
    *reads = cache.reads();
  return at::cat(parts, 1);
}

// nsa.md REQ-16: blocks of 8 tokens every 4, selection blocks of 16, a window
// of 16 of 90 tokens, so every cut falls inside a block or a window.
TEST_P(EveryAttention, AnySplitIsTheForwardPass) {
  const at::NoGradGuard noGrad;
  for (const auto &[phi, input, valueDim, scale] :
       {std::tuple(Compression::Average, GateInput::QueryMean, 8, 1.0),
        std::tuple(Compression::Convolution, GateInput::Hidden, 12, 1.0),
        std::tuple(Compression::Mlp, GateInput::Hidden, 12, 1.0),
        std::tuple(Compression::Average, GateInput::QueryMean, 8, 4.0)}) {
    ModelConfig c = smallOne();
    c.rope = {.scaling = RopeScaling::Yarn,
              .scale = scale,
              .originalLength = 24,
              .fast = 2};
    c.compression = phi;
    c.gateInput = input;
    c.valueDim = c.attention == AttentionKind::Sdpa ? 8 : valueDim;
    Transformer model(c, KernelSource::Torch, 1);
    for (Parameter &p : model.parameters())
      if (p.name.find("compress") != std::string::npos ||
          p.name.find("bigram") != std::string::npos)
        p.value.detach().normal_(0, 0.3);
    const at::Tensor tokens = text(2, 90);
    const at::Tensor whole = model.forward(tokens).logits;
    Reads all, some;
    for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{90},
                                                {1},
                                                {40, 1, 1, 1, 1, 1},
                                                {7, 19, 3},
                                                {8},
                                                {89, 1},
                                                {3, 1, 64}}) {
      const at::Tensor pieces =
          inPieces(model, tokens, lengths, lengths[0] == 90 ? &all : &some);
      EXPECT_LT((pieces - whole).abs().max().item<double>(), 2e-5)
          << lengths[0];
      if (lengths[0] != 90) {
        EXPECT_EQ(some.total(), all.total());
        EXPECT_EQ(some.predicted, all.predicted);
      }
    }
  }
}

// Layers read a long prompt in pieces of 512 tokens.
TEST_P(EveryAttention, ALongPromptIsTheForwardPass) {
  const at::NoGradGuard noGrad;
  ModelConfig c = smallOne();
  c.layers = 1;
  Transformer model(c, KernelSource::Torch, 1);
  const at::Tensor tokens = text(1, 1100);
  const at::Tensor whole = model.forward(tokens).logits;
  for (const std::vector<int64_t> &lengths :
       {std::vector<int64_t>{1100}, {3, 1097}}) {
    const at::Tensor pieces = inPieces(model, tokens, lengths, nullptr);
    EXPECT_LT((pieces - whole).abs().max().item<double>(), 2e-5) << lengths[0];
  }
}

// nsa.md section 11: what the last of so many tokens reads.
TEST(Cache, ReadsAreThoseOfTheTable) {
  ModelConfig c = small(AttentionKind::Nsa);
  c.layers = 1;
  c.heads = c.kvHeads = 1;
  c.nsa = {32, 16, 64, 16, 512};
  Transformer model(c, KernelSource::Torch, 1);
  const at::Tensor tokens = text(1, 1024);
  struct Row {
    int64_t tokens, compressed, predicted, exact;
  };
  Cache cache(c, 1, 1024);
  for (const Row &row : {Row{1, 0, 1025, 2},
                         {31, 0, 1055, 62},
                         {32, 1, 1057, 65},
                         {48, 2, 1074, 98},
                         {64, 3, 1091, 131},
                         {128, 7, 1159, 263},
                         {256, 15, 1295, 527},
                         {512, 31, 1567, 1055},
                         {576, 35, 1571, 1123},
                         {1024, 63, 1599, 1599}}) {
    const int64_t last = row.tokens - 1;
    if (cache.length() < last)
      model.extend(tokens.slice(1, cache.length(), last), cache);
    const Reads before = cache.reads();
    model.extend(tokens.slice(1, last, last + 1), cache);
    const Reads &after = cache.reads();
    EXPECT_EQ(after.compressed - before.compressed, row.compressed);
    // The table counts the window as the tokens there are, up to 512.
    EXPECT_EQ(after.predicted - before.predicted,
              row.compressed + 1024 + std::min<int64_t>(512, row.tokens))
        << row.tokens;
    EXPECT_EQ(after.predicted - before.predicted, row.predicted);
    EXPECT_EQ(after.total() - before.total(), row.exact) << row.tokens;
  }
  EXPECT_THROW(model.extend(tokens.slice(1, 0, 1), cache), tessera::Error);
  EXPECT_THROW(model.extend(text(2, 1), cache), tessera::Error);
}

TEST(Transformer, StartsThatDoNotFitTheBatchAreRefused) {
  Transformer model(small(AttentionKind::Dense), KernelSource::Torch, 1);
  for (const std::vector<int32_t> &starts :
       {std::vector<int32_t>{0, 63}, {0, 40, 30, 64}, {1, 64}, {0, 129, 128}}) {
    ForwardOptions options;
    options.starts = starts;
    EXPECT_THROW(model.forward(text(1, 64), options), tessera::Error);
  }
}

TEST_P(EveryAttention, ASeedFixesTheWeights) {
  const ModelConfig c = smallOne();
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
                         testing::Combine(testing::Values(AttentionKind::Nsa,
                                                          AttentionKind::Dense,
                                                          AttentionKind::Sdpa),
                                          testing::Bool()));

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
