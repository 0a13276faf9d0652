// tests/numeric/AttentionTest.cpp - the four attention ops over the shape
// table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Selection.h"
#include "tests/numeric/Harness.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <limits>
#include <random>

using namespace tessera;
using namespace tessera::numeric;

namespace {

class Attention : public testing::TestWithParam<Shape> {};

reference::Geometry geometryOf(const Shape &shape) {
  reference::Geometry g;
  // Blocks small enough that the small shapes have several of them.
  const bool small = shape.longest() < 1000;
  g.blockLength = small ? 8 : 32;
  g.blockStride = small ? 4 : 16;
  g.selectionLength = small ? 16 : 64;
  g.selected = small ? 4 : 16;
  g.window = small ? 20 : 512;
  return g;
}

at::Tensor toTensor(reference::IndexArray &array) {
  at::Tensor tensor = at::empty(array.shape, at::kInt);
  std::copy(array.values.begin(), array.values.end(),
            tensor.mutable_data_ptr<int32_t>());
  return tensor;
}

// Blocks chosen by random scores, as indices of the selected branch.
reference::IndexArray randomBlocks(const Shape &shape,
                                   const reference::Geometry &g) {
  reference::Array scores({shape.keyHeads, shape.tokens(),
                           reference::selectionBlocks(g, shape.longest())});
  std::mt19937 engine(7);
  for (double &x : scores.values)
    x = std::uniform_real_distribution<double>()(engine);
  reference::IndexArray indices({shape.keyHeads, shape.tokens(), g.selected});
  reference::select(g, shape.offsets(), scores, indices);
  return indices;
}

TEST_P(Attention, Dense) {
  const Shape &shape = GetParam();
  checkAttention(shape, "dense_attention", {shape.cuSeqlens(), shape.longest()},
                 reference::denseKeys(shape.offsets()), shape.tokens());
}

TEST_P(Attention, Window) {
  const Shape &shape = GetParam();
  const int64_t window = geometryOf(shape).window;
  checkAttention(shape, "nsa_window_attention",
                 {shape.cuSeqlens(), shape.longest(), window},
                 reference::windowKeys(shape.offsets(), window),
                 shape.tokens());
}

TEST_P(Attention, Compressed) {
  const Shape &shape = GetParam();
  const reference::Geometry g = geometryOf(shape);
  const at::Tensor cuCmp = callTensor(
      "compressed_offsets", {shape.cuSeqlens(), g.blockLength, g.blockStride});
  const reference::Offsets want =
      reference::compressedOffsets(g, shape.offsets());
  ASSERT_TRUE(
      std::equal(want.begin(), want.end(), cuCmp.const_data_ptr<int32_t>()));
  checkAttention(
      shape, "nsa_compressed_attention",
      {shape.cuSeqlens(), cuCmp, shape.longest(), g.blockLength, g.blockStride},
      reference::compressedKeys(g, shape.offsets()), want.back());
}

TEST_P(Attention, Selected) {
  const Shape &shape = GetParam();
  const reference::Geometry g = geometryOf(shape);
  reference::IndexArray indices = randomBlocks(shape, g);
  checkAttention(shape, "nsa_selected_attention",
                 {toTensor(indices), shape.cuSeqlens(), shape.longest(),
                  g.selectionLength},
                 reference::selectedKeys(g, shape.offsets(), indices),
                 shape.tokens());
}

INSTANTIATE_TEST_SUITE_P(Everyday, Attention,
                         testing::ValuesIn(everydayShapes()), shapeName);
INSTANTIATE_TEST_SUITE_P(Full, Attention, testing::ValuesIn(fullShapes()),
                         shapeName);

// n of at least the number of blocks selects everything: dense attention.
TEST(AttentionEdges, AllBlocksSelectedIsDense) {
  const Shape shape{{48, 0, 65}};
  reference::Geometry g = geometryOf(shape);
  g.selected = 16;
  reference::IndexArray indices = randomBlocks(shape, g);
  checkAttention(shape, "nsa_selected_attention",
                 {toTensor(indices), shape.cuSeqlens(), shape.longest(),
                  g.selectionLength},
                 reference::denseKeys(shape.offsets()), shape.tokens());
}

// A window of at least the length is dense attention; one of 1 is the token;
// those of 2 and 34 end the rows that see a key tile one token into a row tile.
TEST(AttentionEdges, WindowExtremes) {
  const Shape shape{{48, 65}};
  const reference::Offsets offsets = shape.offsets();
  checkAttention(shape, "nsa_window_attention",
                 {shape.cuSeqlens(), shape.longest(), 65},
                 reference::denseKeys(offsets), shape.tokens());
  for (int64_t window : {1, 2, 34})
    checkAttention(shape, "nsa_window_attention",
                   {shape.cuSeqlens(), shape.longest(), window},
                   reference::windowKeys(offsets, window), shape.tokens());
}

// Selection blocks whose length is neither a power of two nor a multiple of a
// tile.
TEST(AttentionEdges, OddSelectionLength) {
  const Shape shape{{111, 7}};
  reference::Geometry g = geometryOf(shape);
  g.selectionLength = 12;
  g.selected = 3;
  reference::IndexArray indices = randomBlocks(shape, g);
  checkAttention(shape, "nsa_selected_attention",
                 {toTensor(indices), shape.cuSeqlens(), shape.longest(),
                  g.selectionLength},
                 reference::selectedKeys(g, shape.offsets(), indices),
                 shape.tokens());
}

// Blocks that no query selected get gradients of exactly zero.
TEST(AttentionEdges, UnselectedBlocksGetExactZeros) {
  const Shape shape{{64}};
  reference::IndexArray indices({2, 64, 2}, -1);
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t t = 0; t < 64; ++t) {
      indices.view()(h, t, 0) = 0;
      if (t >= 48)
        indices.view()(h, t, 1) = 3;
    }
  const at::Tensor q = noise({64, 4, 16}, at::kFloat, 1).requires_grad_();
  const at::Tensor k = noise({64, 2, 16}, at::kFloat, 2).requires_grad_();
  const at::Tensor v = noise({64, 2, 16}, at::kFloat, 3).requires_grad_();
  const at::Tensor o =
      callTensor("nsa_selected_attention",
                 {q, k, v, toTensor(indices), shape.cuSeqlens(), 64, 16});
  const auto grads =
      gradients({o}, {noise({64, 4, 16}, at::kFloat, 4)}, {k, v});
  for (const at::Tensor &grad : grads) {
    EXPECT_EQ(grad.slice(0, 16, 48).abs().max().item<float>(), 0);
    EXPECT_GT(grad.slice(0, 0, 16).abs().max().item<float>(), 0);
    EXPECT_GT(grad.slice(0, 48, 64).abs().max().item<float>(), 0);
  }
}

// The same call gives the same bits, whatever the threads do.
TEST(AttentionEdges, GradientsAreDeterministic) {
  const Shape shape{{111, 48}, 2, 6};
  const reference::Geometry g = geometryOf(shape);
  reference::IndexArray indices = randomBlocks(shape, g);
  const int64_t tokens = shape.tokens();
  const at::Tensor q = noise({tokens, 12, 16}, at::kFloat, 1).requires_grad_();
  const at::Tensor k = noise({tokens, 2, 16}, at::kFloat, 2).requires_grad_();
  const at::Tensor v = noise({tokens, 2, 16}, at::kFloat, 3).requires_grad_();
  const at::Tensor weight = noise({tokens, 12, 16}, at::kFloat, 4);
  const auto run = [&] {
    const at::Tensor o = callTensor(
        "nsa_selected_attention",
        {q, k, v, toTensor(indices), shape.cuSeqlens(), shape.longest(), 16});
    return gradients({o}, {weight}, {q, k, v});
  };
  const auto first = run(), second = run();
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(at::equal(first[i], second[i])) << i;
}

} // namespace
