// tests/numeric/SelectionTest.cpp - scores, selection and ranges against the
// reference.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Selection.h"
#include "tests/numeric/Harness.h"

#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <set>

using namespace tessera;
using namespace tessera::numeric;

namespace {

class Selection : public testing::TestWithParam<Shape> {};

reference::Geometry selectionGeometry(const Shape &shape) {
  reference::Geometry g;
  const bool small = shape.longest() < 1000;
  g.blockLength = small ? 8 : 32;
  g.blockStride = small ? 4 : 16;
  g.selectionLength = small ? 8 : 64;
  g.selected = small ? 5 : 16;
  return g;
}

struct Selected {
  at::Tensor indices, scores, ranges;
  reference::Array exact; // fp64 scores
};

Selected run(const Shape &shape, const reference::Geometry &g, at::Tensor q,
             at::Tensor k) {
  const at::Tensor cu = shape.cuSeqlens();
  const at::Tensor cuCmp =
      callTensor("compressed_offsets", {cu, g.blockLength, g.blockStride});
  const at::Tensor lse =
      callOp("nsa_compressed_attention", {q, k, k, cu, cuCmp, shape.longest(),
                                          g.blockLength, g.blockStride})[1]
          .toTensor();
  const std::vector<c10::IValue> arguments{q,
                                           k,
                                           lse,
                                           cu,
                                           cuCmp,
                                           shape.longest(),
                                           g.blockLength,
                                           g.blockStride,
                                           g.selectionLength,
                                           g.selected,
                                           g.initialBlocks,
                                           g.localBlocks,
                                           c10::IValue(),
                                           g.generalOverlap};
  const auto outputs = callOp("nsa_select_scores", arguments);
  Selected result{outputs[0].toTensor(), outputs[1].toTensor(), {}, {}};
  EXPECT_TRUE(result.indices.equal(callTensor("nsa_select", arguments)));
  result.ranges = callTensor(
      "nsa_ranges", {result.indices, cu, shape.longest(), g.selectionLength});

  reference::Array rq = toReference(q), rk = toReference(k);
  reference::Array o({shape.tokens(), shape.queryHeads(), shape.dim});
  reference::Array exactLse({shape.queryHeads(), shape.tokens()});
  const double scale = 1 / std::sqrt(static_cast<double>(shape.dim));
  reference::attention(rq, rk, rk,
                       reference::compressedKeys(g, shape.offsets()), scale, o,
                       exactLse);
  result.exact = reference::Array(result.scores.sizes().vec());
  reference::blockScores(rq, rk, exactLse, g, shape.offsets(), scale,
                         result.exact);
  return result;
}

// Exact on the kernel's scores; against fp64, a block may differ only within
// the error of the scores.
void check(const Shape &shape, const reference::Geometry &g, Selected &got) {
  const reference::Offsets cu = shape.offsets();
  reference::Array own = toReference(got.scores);
  reference::IndexArray want(got.indices.sizes().vec()),
      exact(got.indices.sizes().vec());
  reference::select(g, cu, own, want);
  reference::select(g, cu, got.exact, exact);
  ASSERT_EQ(toIndices(got.indices).values, want.values);

  reference::IndexArray ranges(got.ranges.sizes().vec());
  reference::selectedRanges(g, cu, want, ranges);
  EXPECT_EQ(toIndices(got.ranges).values, ranges.values);

  // Entries after the current block are not scores.
  reference::Array visible = got.exact;
  const int64_t blocks = got.exact.shape[2];
  for (int64_t h = 0; h < shape.keyHeads; ++h)
    for (int64_t t = 0; t < shape.tokens(); ++t) {
      const int64_t current =
          (t - cu[reference::sequenceOf(cu, t)]) / g.selectionLength;
      double error = 0;
      for (int64_t j = 0; j < blocks; ++j) {
        if (j > current)
          visible.view()(h, t, j) = own.view()(h, t, j);
        else
          error = std::max(
              error, std::abs(own.view()(h, t, j) - got.exact.view()(h, t, j)));
      }
      std::set<int32_t> a, b;
      for (int64_t slot = 0; slot < g.selected; ++slot) {
        a.insert(want.view()(h, t, slot));
        b.insert(exact.view()(h, t, slot));
      }
      for (int32_t x : a) {
        for (int32_t y : b) {
          if (!b.count(x) && !a.count(y)) {
            EXPECT_LE(
                std::abs(got.exact.view()(h, t, x) - got.exact.view()(h, t, y)),
                2 * error)
                << "head " << h << " token " << t << " blocks " << x << " and "
                << y;
          }
        }
      }
    }
  expectClose(got.scores, visible, shape.limit(), "scores");
}

TEST_P(Selection, ExactOnOwnScores) {
  const Shape &shape = GetParam();
  const reference::Geometry g = selectionGeometry(shape);
  const int64_t rows = reference::compressedOffsets(g, shape.offsets()).back();
  Selected got =
      run(shape, g,
          noise({shape.tokens(), shape.queryHeads(), shape.dim}, shape.type, 1),
          noise({rows, shape.keyHeads, shape.dim}, shape.type, 2));
  check(shape, g, got);
}

INSTANTIATE_TEST_SUITE_P(Everyday, Selection,
                         testing::ValuesIn(everydayShapes()), shapeName);
INSTANTIATE_TEST_SUITE_P(Full, Selection, testing::ValuesIn(fullShapes()),
                         shapeName);

// Equal scores everywhere: the lower blocks win.
TEST(SelectionEdges, EqualScores) {
  const Shape shape{{200}};
  const reference::Geometry g = selectionGeometry(shape);
  const int64_t rows = reference::compressedCount(g, 200);
  Selected got = run(shape, g, at::zeros({200, 4, 16}, at::kFloat),
                     noise({rows, 2, 16}, at::kFloat, 2));
  check(shape, g, got);
  reference::IndexArray indices = toIndices(got.indices);
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t t = 0; t < 200; ++t) {
      const int32_t current = static_cast<int32_t>(t / 8);
      std::set<int32_t> want{0, current, std::max(0, current - 1)};
      for (int32_t j = 1; static_cast<int64_t>(want.size()) <
                          std::min<int64_t>(5, current + 1);
           ++j)
        want.insert(j);
      std::set<int32_t> have;
      for (int64_t slot = 0; slot < 5; ++slot)
        if (indices.view()(h, t, slot) >= 0)
          have.insert(indices.view()(h, t, slot));
      EXPECT_EQ(have, want) << "head " << h << " token " << t;
    }
}

// Forced blocks at both ends, none, and as many as there are slots.
TEST(SelectionEdges, ForcedBlocks) {
  const Shape shape{{93, 20, 1, 40}};
  for (auto [initial, local] : {std::array<int64_t, 2>{0, 0},
                                {0, 1},
                                {1, 0},
                                {2, 2},
                                {3, 1},
                                {1, 4},
                                {5, 0},
                                {0, 5}}) {
    SCOPED_TRACE(testing::Message() << initial << ' ' << local);
    reference::Geometry g = selectionGeometry(shape);
    g.initialBlocks = initial;
    g.localBlocks = local;
    const int64_t rows =
        reference::compressedOffsets(g, shape.offsets()).back();
    Selected got = run(shape, g, noise({shape.tokens(), 4, 16}, at::kFloat, 1),
                       noise({rows, 2, 16}, at::kFloat, 2));
    check(shape, g, got);
  }
}

// NaN scores rank after all others, and before no block.
TEST(SelectionEdges, NotANumberRanksLast) {
  const Shape shape{{150}};
  for (int64_t forced : {0, 1}) {
    reference::Geometry g = selectionGeometry(shape);
    g.initialBlocks = g.localBlocks = forced;
    const at::Tensor cu = shape.cuSeqlens(),
                     cuCmp = callTensor("compressed_offsets",
                                        {cu, g.blockLength, g.blockStride}),
                     q = noise({150, 4, 16}, at::kFloat, 1);
    at::Tensor k =
        noise({reference::compressedCount(g, 150), 2, 16}, at::kFloat, 2);
    const at::Tensor lse =
        callOp("nsa_compressed_attention", {q, k, k, cu, cuCmp, shape.longest(),
                                            g.blockLength, g.blockStride})[1]
            .toTensor();
    // Compressed keys of the first blocks and of some later ones.
    for (int64_t row : {0, 1, 7, 16, 17, 30})
      k.select(0, row).fill_(std::nan(""));
    const auto outputs = callOp(
        "nsa_select_scores",
        {q, k, lse, cu, cuCmp, shape.longest(), g.blockLength, g.blockStride,
         g.selectionLength, g.selected, g.initialBlocks, g.localBlocks});
    const at::Tensor indices = outputs[0].toTensor();
    reference::Array scores = toReference(outputs[1].toTensor());
    reference::IndexArray want(indices.sizes().vec());
    reference::select(g, shape.offsets(), scores, want);
    EXPECT_EQ(toIndices(indices).values, want.values);
    // For the last token there are numbers enough: of the others it gets what
    // is forced.
    int64_t numbers = 0, chosen = 0;
    for (int64_t j = 0; j <= 149 / g.selectionLength; ++j)
      numbers += !std::isnan(scores.view()(0, 149, j));
    EXPECT_GT(numbers, g.selected);
    EXPECT_LT(numbers, 149 / g.selectionLength);
    for (int64_t slot = 0; slot < g.selected; ++slot)
      chosen += std::isnan(
          scores.view()(0, 149, toIndices(indices).view()(0, 149, slot)));
    EXPECT_EQ(chosen, forced);
    // And where there are fewer numbers than slots, they fill up.
    EXPECT_EQ(toIndices(indices).view()(0, 8 * 5 - 1, g.selected - 1), 4);
  }
}

// Geometries with other weights in Eq. 9, and more blocks than slots of a tile.
TEST(SelectionEdges, Geometries) {
  for (auto [l, d, lSel] : {std::array<int64_t, 3>{32, 32, 64},
                            {64, 16, 64},
                            {32, 16, 32},
                            {16, 16, 16},
                            {32, 8, 64}}) {
    SCOPED_TRACE(testing::Message() << l << ' ' << d << ' ' << lSel);
    const Shape shape{{700, 33}, 1};
    reference::Geometry g;
    g.blockLength = l;
    g.blockStride = d;
    g.selectionLength = lSel;
    g.selected = 6;
    const int64_t rows =
        reference::compressedOffsets(g, shape.offsets()).back();
    Selected got = run(shape, g, noise({shape.tokens(), 2, 16}, at::kFloat, 1),
                       noise({rows, 1, 16}, at::kFloat, 2));
    check(shape, g, got);
  }
}

TEST(SelectionEdges, GeneralOverlap) {
  const Shape shape{{100, 9}, 1};
  reference::Geometry g;
  g.blockLength = 10;
  g.blockStride = 4;
  g.selectionLength = 7;
  g.selected = 4;
  g.generalOverlap = true;
  const int64_t rows = reference::compressedOffsets(g, shape.offsets()).back();
  Selected got = run(shape, g, noise({shape.tokens(), 2, 16}, at::kFloat, 1),
                     noise({rows, 1, 16}, at::kFloat, 2));
  check(shape, g, got);
}

} // namespace
