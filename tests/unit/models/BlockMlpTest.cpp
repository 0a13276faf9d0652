// tests/unit/models/BlockMlpTest.cpp - the network that compresses blocks next
// to its formula in fp64.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/BlockMlp.h"

#include "models/Kernels.h"

#include <ATen/ATen.h>
#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::models;

namespace {

constexpr int64_t heads = 2, channels = 3, hidden = 5;

at::Tensor drawn(at::IntArrayRef shape, at::ScalarType type) {
  static int64_t seed = 1;
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(uint64_t(seed++));
  return at::randn(shape, generator, at::TensorOptions(at::kDouble)).to(type);
}

BlockMlp network(const NsaGeometry &g, int64_t networks, at::ScalarType type) {
  BlockMlp mlp;
  const int64_t inputs = g.blockLength * channels;
  mlp.position = drawn({g.blockLength, channels}, type);
  mlp.in = drawn({networks, hidden, inputs}, type) / std::sqrt(double(inputs));
  mlp.inBias = drawn({networks, hidden}, type);
  mlp.out = drawn({networks, channels, hidden}, type);
  mlp.outBias = drawn({networks, channels}, type);
  return mlp;
}

/// W2 f(W1 vec(x + E) + b1) + b2 of the block of one head that begins at
/// `first`, one number after the other.
std::vector<double> formula(const BlockMlp &m, const at::Tensor &x,
                            int64_t first, int64_t head, const NsaGeometry &g,
                            MlpKind kind) {
  const int64_t n = m.in.size(0) == 1 ? 0 : head;
  const auto at = [](const at::Tensor &t, std::initializer_list<int64_t> i) {
    at::Tensor v = t;
    for (const int64_t k : i)
      v = v[k];
    return v.item<double>();
  };
  std::vector<double> f(hidden);
  for (int64_t h = 0; h < hidden; ++h) {
    double sum = at(m.inBias, {n, h});
    for (int64_t t = 0; t < g.blockLength; ++t)
      for (int64_t c = 0; c < channels; ++c)
        sum += at(m.in, {n, h, t * channels + c}) *
               (at(x, {first + t, head, c}) + at(m.position, {t, c}));
    f[size_t(h)] = kind == MlpKind::SquaredRelu
                       ? std::max(sum, 0.0) * std::max(sum, 0.0)
                       : sum / (1 + std::exp(-sum));
  }
  std::vector<double> y(channels);
  for (int64_t c = 0; c < channels; ++c) {
    y[size_t(c)] = at(m.outBias, {n, c});
    for (int64_t h = 0; h < hidden; ++h)
      y[size_t(c)] += at(m.out, {n, c, h}) * f[size_t(h)];
  }
  return y;
}

/// Blocks that overlap twice, three times, and not at all; sequences that
/// continue after the last block, and ones shorter than a block.
TEST(BlockMlp, IsItsFormula) {
  for (const NsaGeometry &g : {NsaGeometry{4, 2}, {6, 2}, {3, 3}})
    for (const int64_t networks : {int64_t(1), heads})
      for (const MlpKind kind : {MlpKind::Silu, MlpKind::SquaredRelu}) {
        const BlockMlp mlp = network(g, networks, at::kFloat);
        const Packing packing({0, 11, 11, 13, 26}, 16, g);
        const at::Tensor x = drawn({26, heads, channels}, at::kFloat);
        const at::Tensor y = mlp.apply(x, packing, g, kind);
        ASSERT_EQ(y.sizes(),
                  (std::vector<int64_t>{packing.compressed, heads, channels}));
        int64_t block = 0;
        for (const auto &[start, length] :
             {std::pair<int64_t, int64_t>{0, 11}, {11, 2}, {13, 13}})
          for (int64_t i = 0; i < g.compressedCount(length); ++i, ++block)
            for (int64_t head = 0; head < heads; ++head) {
              const auto expected =
                  formula(mlp, x, start + i * g.stride, head, g, kind);
              for (int64_t c = 0; c < channels; ++c)
                EXPECT_NEAR(y[block][head][c].item<double>(),
                            expected[size_t(c)], 2e-5);
            }
        EXPECT_EQ(block, packing.compressed);
      }
}

TEST(BlockMlp, EqualSequencesAreThoseOfTheirStarts) {
  const NsaGeometry g{4, 2};
  const BlockMlp mlp = network(g, 1, at::kDouble);
  const at::Tensor x = drawn({22, heads, channels}, at::kDouble);
  EXPECT_TRUE(
      at::allclose(mlp.apply(x, Packing(2, 11, g), g, MlpKind::Silu),
                   mlp.apply(x, Packing({0, 11, 22}, 11, g), g, MlpKind::Silu),
                   1e-12, 1e-12));
  // None is long enough.
  EXPECT_EQ(mlp.apply(x, Packing({0, 1, 4}, 3, g), g, MlpKind::Silu).size(0),
            0);
}

/// Of every input and weight, against differences of the sum's values.
TEST(BlockMlp, GradientsAreThoseOfFiniteDifferences) {
  const NsaGeometry g{4, 2};
  for (const int64_t networks : {int64_t(1), heads}) {
    BlockMlp mlp = network(g, networks, at::kDouble);
    at::Tensor x = drawn({11, heads, channels}, at::kDouble);
    const Packing packing({0, 7, 11}, 8, g);
    const at::Tensor factors =
        drawn({packing.compressed, heads, channels}, at::kDouble);
    const auto value = [&] {
      return (mlp.apply(x, packing, g, MlpKind::Silu) * factors).sum();
    };
    for (at::Tensor *t :
         {&x, &mlp.position, &mlp.in, &mlp.inBias, &mlp.out, &mlp.outBias})
      t->set_requires_grad(true);
    value().backward();
    const at::NoGradGuard noGrad;
    constexpr double step = 1e-5;
    for (at::Tensor *t :
         {&x, &mlp.position, &mlp.in, &mlp.inBias, &mlp.out, &mlp.outBias}) {
      const at::Tensor flat = t->detach().view(-1), grad = t->grad().view(-1);
      for (int64_t i = 0; i < flat.size(0); i += 1 + flat.size(0) / 40) {
        const double before = flat[i].item<double>();
        flat[i].fill_(before + step);
        const double above = value().item<double>();
        flat[i].fill_(before - step);
        const double below = value().item<double>();
        flat[i].fill_(before);
        EXPECT_NEAR(grad[i].item<double>(), (above - below) / (2 * step), 1e-7)
            << i;
      }
    }
  }
}

} // namespace
