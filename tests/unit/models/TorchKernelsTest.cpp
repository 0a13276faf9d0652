// tests/unit/models/TorchKernelsTest.cpp - plain-torch NSA, golden vectors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Kernels.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::models;

namespace {

/// The filling of the golden vectors: x_i = 4 (((i a + b) mod 97) / 97 - 1/2).
at::Tensor filled(at::IntArrayRef shape, int64_t a, int64_t b) {
  int64_t count = 1;
  for (int64_t n : shape)
    count *= n;
  return ((at::arange(count) * a + b).remainder(97).to(at::kDouble) / 97 - 0.5)
      .mul(4)
      .to(at::kFloat)
      .view(shape);
}

ModelConfig tiny() {
  ModelConfig c;
  c.heads = 2;
  c.kvHeads = 1;
  c.keyDim = 4;
  c.valueDim = 2;
  c.nsa = {4, 2, 4, 3, 3};
  return c;
}

/// The tiny case with all gates shut but one.
NsaInputs golden(int open) {
  at::Tensor gates = at::full({12, 1, 3}, -100.0);
  gates.select(2, open).fill_(100);
  return {filled({12, 2, 4}, 13, 5),
          filled({12, 1, 4}, 29, 7),
          filled({12, 1, 2}, 31, 3),
          filled({12, 1, 4}, 17, 11),
          filled({12, 1, 2}, 19, 2),
          filled({12, 1, 4}, 23, 1),
          filled({12, 1, 2}, 37, 9),
          gates,
          {},
          {}};
}

struct GoldenRow {
  int64_t t;
  double h0[2], h1[2];
};

void expectRows(int branch, const std::vector<GoldenRow> &rows) {
  const ModelConfig c = tiny();
  const auto kernels = makeTorchKernels();
  const at::Tensor out =
      kernels->nsaAttention(golden(branch), c, Packing(1, 12, c.nsa)).output;
  for (const GoldenRow &r : rows)
    for (int d : {0, 1}) {
      EXPECT_NEAR(out[r.t][0][d].item<double>(), r.h0[d], 2e-5) << r.t;
      EXPECT_NEAR(out[r.t][1][d].item<double>(), r.h1[d], 2e-5) << r.t;
    }
}

TEST(TorchKernels, GoldenCompressed) {
  expectRows(0, {{0, {0, 0}, {0, 0}},
                 {2, {0, 0}, {0, 0}},
                 {3, {-0.041237, 0.237113}, {-0.041237, 0.237113}},
                 {5, {0.017187, 0.295537}, {0.040450, 0.318801}},
                 {9, {0.134842, 0.071435}, {0.118588, 0.219557}},
                 {11, {0.084646, -0.022069}, {-0.052061, 0.094358}}});
}

TEST(TorchKernels, GoldenSelected) {
  expectRows(1, {{0, {-1.917526, -1.134021}, {-1.917526, -1.134021}},
                 {2, {-1.515887, -1.142843}, {-0.304725, 0.344932}},
                 {5, {-0.604594, -0.720664}, {0.297692, 0.997525}},
                 {9, {1.467765, -1.419306}, {-0.324212, 0.237239}},
                 {11, {-0.732373, -0.079498}, {-0.059502, 0.005124}}});
}

TEST(TorchKernels, GoldenWindow) {
  expectRows(2, {{0, {-1.628866, -0.103093}, {-1.628866, -0.103093}},
                 {3, {0.441984, -0.630341}, {0.479603, -0.672611}},
                 {7, {0.941428, -0.711446}, {0.469411, -0.201564}},
                 {11, {1.729845, -0.600302}, {0.661679, -0.239439}}});
}

at::Tensor noise(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed));
}

NsaInputs random(int64_t tokens, const ModelConfig &c, uint64_t seed) {
  const auto keys = [&](uint64_t s) {
    return noise({tokens, c.kvHeads, c.keyDim}, seed + s);
  };
  const auto values = [&](uint64_t s) {
    return noise({tokens, c.kvHeads, c.valueDim}, seed + s);
  };
  return {noise({tokens, c.heads, c.keyDim}, seed),
          keys(1),
          values(2),
          keys(3),
          values(4),
          keys(5),
          values(6),
          noise({tokens, c.kvHeads, 3}, seed + 7),
          {},
          {}};
}

/// Long sequences go through several blocks of query rows; each query must come
/// out as if it were the last of a shorter sequence.
TEST(TorchKernels, RowBlocksDoNotChangeAQuery) {
  ModelConfig c;
  c.heads = 4;
  c.kvHeads = 2;
  c.keyDim = c.valueDim = 16;
  c.nsa = {16, 8, 32, 6, 64};
  const auto kernels = makeTorchKernels();
  const NsaInputs in = random(1100, c, 40);
  const NsaResult whole = kernels->nsaAttention(in, c, Packing(1, 1100, c.nsa));
  for (int64_t n : {512, 700, 1025}) {
    NsaInputs part = in;
    for (at::Tensor *t :
         {&part.query, &part.keyCmp, &part.valueCmp, &part.keySel,
          &part.valueSel, &part.keyWin, &part.valueWin, &part.gateLogits})
      *t = t->slice(0, 0, n);
    const NsaResult prefix =
        kernels->nsaAttention(part, c, Packing(1, n, c.nsa));
    EXPECT_TRUE(at::equal(prefix.indices.select(1, n - 1),
                          whole.indices.select(1, n - 1)));
    EXPECT_LT(
        (prefix.output[n - 1] - whole.output[n - 1]).abs().max().item<double>(),
        1e-5);
  }
}

TEST(TorchKernels, SequencesOfABatchDoNotMeet) {
  const ModelConfig c = tiny();
  const auto kernels = makeTorchKernels();
  const NsaInputs in = random(24, c, 3);
  const at::Tensor both =
      kernels->nsaAttention(in, c, Packing(2, 12, c.nsa)).output;
  NsaInputs second = in;
  for (at::Tensor *t :
       {&second.query, &second.keyCmp, &second.valueCmp, &second.keySel,
        &second.valueSel, &second.keyWin, &second.valueWin, &second.gateLogits})
    *t = t->slice(0, 12, 24);
  const at::Tensor alone =
      kernels->nsaAttention(second, c, Packing(1, 12, c.nsa)).output;
  EXPECT_LT((both.slice(0, 12, 24) - alone).abs().max().item<double>(), 1e-6);
}

TEST(TorchKernels, ConvolutionStartsAsTheMean) {
  ModelConfig c = tiny();
  const auto kernels = makeTorchKernels();
  NsaInputs in = random(12, c, 9);
  const Packing packing(1, 12, c.nsa);
  const at::Tensor mean = kernels->nsaAttention(in, c, packing).output;
  in.keyFilter = at::full({4, 4}, 0.25);
  in.valueFilter = at::full({4, 2}, 0.25);
  const at::Tensor same = kernels->nsaAttention(in, c, packing).output;
  EXPECT_LT((mean - same).abs().max().item<double>(), 1e-6);
  in.keyFilter = noise({4, 4}, 1);
  const at::Tensor other = kernels->nsaAttention(in, c, packing).output;
  EXPECT_GT((mean - other).abs().max().item<double>(), 1e-3);
}

TEST(TorchKernels, DenseAttentionEqualsSdpa) {
  const auto kernels = makeTorchKernels();
  const Packing packing(2, 600, {});
  const at::Tensor q = noise({1200, 4, 16}, 1), k = noise({1200, 2, 16}, 2),
                   v = noise({1200, 2, 16}, 3);
  const auto heads = [](const at::Tensor &x) {
    return x.unflatten(0, {2, 600}).transpose(1, 2);
  };
  const at::Tensor ours = heads(kernels->denseAttention(q, k, v, packing));
  const at::Tensor theirs = at::scaled_dot_product_attention(
      heads(q), heads(k), heads(v), {}, 0.0, true, std::nullopt, true);
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 1e-5);
}

TEST(TorchKernels, RotaryScoresDependOnTheDistanceOnly) {
  const auto kernels = makeTorchKernels();
  const Packing packing(1, 600, {});
  const at::Tensor q = noise({1, 2, 32}, 1).repeat({600, 1, 1});
  const at::Tensor k = noise({1, 2, 32}, 2).repeat({600, 1, 1});
  const at::Tensor rq = kernels->rope(q, packing, Rope());
  const at::Tensor rk = kernels->rope(k, packing, Rope());
  EXPECT_TRUE(at::equal(rq[0], q[0]));
  for (int64_t head : {0, 1}) {
    const double near = rq[5][head].dot(rk[0][head]).item<double>();
    for (int64_t base : {50, 500})
      EXPECT_NEAR(rq[base + 5][head].dot(rk[base][head]).item<double>(), near,
                  1e-4);
  }
  // Channel pair 0 turns by one radian a position.
  EXPECT_NEAR(rq[3][0][0].item<double>(),
              std::cos(3.0) * q[3][0][0].item<double>() -
                  std::sin(3.0) * q[3][0][1].item<double>(),
              1e-5);
}

TEST(TorchKernels, RmsNormHasUnitSize) {
  const auto kernels = makeTorchKernels();
  const at::Tensor x = noise({5, 64}, 1) * 7;
  const at::Tensor y = kernels->rmsNorm(x, at::full({64}, 2.0), 1e-6);
  EXPECT_LT((y.square().mean(-1).sqrt() - 2).abs().max().item<double>(), 1e-5);
}

} // namespace
