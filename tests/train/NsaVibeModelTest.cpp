// tests/train/NsaVibeModelTest.cpp - the model of a file for nsa-vibe next to
// nsa-vibe's formulas in plain torch: logits and gradients of the same weights.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Loss.h"
#include "models/Transformer.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace tessera;
using namespace tessera::models;

namespace {

constexpr int64_t tokenCount = 45, vocabularyOfFile = 61;
constexpr double never = -std::numeric_limits<double>::infinity();

const char *const file = R"(
model: {dim: 32, n_layers: 2, n_heads: 4, n_kv_groups: 2, d_k: 16, d_v: 16}
nsa: {l: 8, d: 4, l_sel: 8, n_sel: 4, w: 12, phi: avg}
train: {steps: 1, seq_len: 45, out_dir: runs/theirs}
)";

using Weights = std::map<std::string, at::Tensor>;

at::Tensor normed(const at::Tensor &x, const at::Tensor &weight) {
  return x * (x.square().mean(-1, true) + 1e-6).rsqrt() * weight;
}

/// x [S, heads, d]: neighbouring channels are a pair.
at::Tensor turned(const at::Tensor &x) {
  const int64_t d = x.size(2);
  const at::Tensor angle =
      at::arange(x.size(0), at::kFloat).view({-1, 1, 1}) *
      at::pow(10000.0, at::arange(0, d, 2, at::kFloat) / -double(d));
  const at::Tensor a = x.slice(2, 0, d, 2), b = x.slice(2, 1, d, 2);
  return at::stack({a * angle.cos() - b * angle.sin(),
                    a * angle.sin() + b * angle.cos()},
                   3)
      .flatten(2);
}

/// Probabilities [heads of the group, S, keys] of q [S, heads, d] and k
/// [keys, d] under a mask [S, keys]; a row without keys is zero.
at::Tensor shares(const at::Tensor &q, const at::Tensor &k,
                  const at::Tensor &mask) {
  const at::Tensor scores =
      at::matmul(q.transpose(0, 1), k.t()) / std::sqrt(double(q.size(2)));
  const at::Tensor some = mask.any(1, true);
  return scores.masked_fill(~(mask | ~some), never).softmax(2) * some;
}

/// Mask [S, S] of the keys in the selected blocks, from the probabilities of
/// the compressed keys summed over the group, [S, compressed].
at::Tensor selectedKeys(const at::Tensor &p, const NsaGeometry &g) {
  const int64_t s = p.size(0);
  const at::Tensor mask = at::zeros({s, s}, at::kBool);
  for (int64_t t = 0; t < s; ++t) {
    const int64_t own = t / g.selectionLength;
    std::vector<std::pair<double, int64_t>> order;
    for (int64_t j = 0; j <= own; ++j) {
      double score = 0;
      for (int64_t i = 0; i < p.size(1); ++i) {
        const int64_t from = std::max(i * g.stride, j * g.selectionLength);
        const int64_t to =
            std::min(i * g.stride + g.blockLength, (j + 1) * g.selectionLength);
        score += p[t][i].item<double>() *
                 double(std::max<int64_t>(0, to - from)) / double(g.stride);
      }
      const bool forced = j == 0 || j >= own - 1;
      order.emplace_back(forced ? -1e9 : -score, j);
    }
    std::sort(order.begin(), order.end());
    for (size_t n = 0; n < order.size() && n < size_t(g.selectedBlocks); ++n) {
      const int64_t first = order[n].second * g.selectionLength;
      mask[t]
          .slice(0, first, std::min(t + 1, first + g.selectionLength))
          .fill_(true);
    }
  }
  return mask;
}

/// One layer's attention of normed inputs y [S, dim], by the names of its
/// weights. The order of projections is query, keys (compressed, selected,
/// window), values.
at::Tensor attended(Weights &w, const std::string &in, const at::Tensor &y,
                    const ModelConfig &c) {
  const int64_t s = y.size(0), h = c.heads / c.kvHeads, d = c.keyDim;
  const NsaGeometry &g = c.nsa;
  const at::Tensor all = at::linear(y, w[in + "attention.qkv"]);
  const auto heads = [&](int64_t first, int64_t count) {
    return all.slice(1, first * d, (first + count) * d).view({s, count, d});
  };
  const at::Tensor q = turned(heads(0, c.heads));
  const at::Tensor keys = turned(heads(c.heads, 3 * c.kvHeads));
  const at::Tensor values = heads(c.heads + 3 * c.kvHeads, 3 * c.kvHeads);
  const at::Tensor t = at::arange(s).view({-1, 1}), pos = at::arange(s);
  const int64_t count = g.compressedCount(s);
  const at::Tensor complete =
      at::arange(count) * g.stride + g.blockLength <= t + 1;
  const at::Tensor near = (pos <= t).logical_and(pos > t - g.window);
  std::vector<at::Tensor> output;
  for (int64_t group = 0; group < c.kvHeads; ++group) {
    const at::Tensor mine = q.slice(1, group * h, (group + 1) * h);
    const auto of = [&](const at::Tensor &x, int64_t branch) {
      return x.select(1, branch * c.kvHeads + group);
    };
    const auto mean = [&](const at::Tensor &x) {
      return x.unfold(0, g.blockLength, g.stride).mean(-1);
    };
    const at::Tensor p = shares(mine, mean(of(keys, 0)), complete);
    const at::Tensor chosen = selectedKeys(p.detach().sum(0), g);
    const at::Tensor branches[] = {
        at::matmul(p, mean(of(values, 0))),
        at::matmul(shares(mine, of(keys, 1), chosen), of(values, 1)),
        at::matmul(shares(mine, of(keys, 2), near), of(values, 2))};
    // fc2(silu(fc1(mean query))), softmax over the branches.
    const at::Tensor hidden = at::silu(
        at::linear(mine.mean(1), w[in + "gate.in"], w[in + "gate.in_bias"]));
    const at::Tensor gates =
        at::linear(hidden, w[in + "gate.out"], w[in + "gate.out_bias"])
            .softmax(1);
    at::Tensor sum = at::zeros_like(branches[0]);
    for (int64_t b = 0; b < 3; ++b)
      sum = sum + branches[b] * gates.select(1, b).view({1, s, 1});
    output.push_back(sum.transpose(0, 1));
  }
  return at::linear(at::cat(output, 1).flatten(1), w[in + "attention.output"]);
}

at::Tensor logitsOf(Weights &w, const at::Tensor &tokens,
                    const ModelConfig &c) {
  at::Tensor x = w["embedding"].index_select(0, tokens);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string in = "blocks." + std::to_string(i) + ".";
    x = x + attended(w, in, normed(x, w[in + "attention.norm"]), c);
    x = x + at::linear(at::silu(at::linear(normed(x, w[in + "mlp.norm"]),
                                           w[in + "mlp.in"])),
                       w[in + "mlp.out"]);
  }
  return at::linear(normed(x, w["norm"]), w["head"]);
}

class NsaVibeModel : public testing::TestWithParam<KernelSource> {};

TEST_P(NsaVibeModel, HasTheSameLogitsAndGradients) {
  trainer::Config config = trainer::parseConfig(file, "theirs.yaml", {});
  config.model.vocabulary = vocabularyOfFile;
  Transformer model(config.model, GetParam(), 1);
  Weights w;
  uint64_t seed = 1;
  for (Parameter &p : model.parameters()) {
    const at::NoGradGuard noGrad;
    p.value.add_(at::randn(p.value.sizes(),
                           at::detail::createCPUGenerator(++seed), at::kFloat),
                 0.1);
    w[p.name] = p.value.detach().clone().requires_grad_(true);
  }
  const size_t weights = w.size();
  const at::Tensor tokens =
      (at::arange(tokenCount) * 31 + 7).remainder(vocabularyOfFile);
  const at::Tensor targets =
      (at::arange(tokenCount) * 17 + 3).remainder(vocabularyOfFile);
  const at::Tensor ours = model.forward(tokens.view({1, -1})).logits[0];
  const at::Tensor theirs = logitsOf(w, tokens, config.model);
  EXPECT_EQ(w.size(), weights) << "a weight has another name";
  const double apart = (ours - theirs).abs().max().item<double>();
  RecordProperty("largest difference", std::to_string(apart));
  EXPECT_LE(apart, 1e-5 * std::max(1.0, theirs.abs().max().item<double>()));
  at::cross_entropy_loss(ours, targets).backward();
  at::cross_entropy_loss(theirs, targets).backward();
  for (const Parameter &p : model.parameters()) {
    const at::Tensor wanted = w[p.name].grad();
    ASSERT_TRUE(wanted.defined() && p.value.grad().defined()) << p.name;
    const double scale = wanted.norm().item<double>();
    EXPECT_GT(scale, 1e-9) << p.name;
    EXPECT_LE((p.value.grad() - wanted).norm().item<double>(), 2e-5 * scale)
        << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NsaVibeModel,
                         testing::Values(KernelSource::Torch,
                                         KernelSource::Tessera),
                         [](const auto &info) {
                           return info.param == KernelSource::Torch ? "Torch"
                                                                    : "Tessera";
                         });

} // namespace
