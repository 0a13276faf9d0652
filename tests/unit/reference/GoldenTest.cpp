// tests/unit/reference/GoldenTest.cpp - selection, ranges and branch outputs
// against golden values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Compression.h"
#include "reference/Selection.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tessera::reference;

namespace {

struct Row {
  int64_t t;
  std::vector<int32_t> blocks;
  Ranges ranges;
};

Geometry smallSelection() {
  Geometry g;
  g.blockLength = 8;
  g.blockStride = 4;
  g.selectionLength = 8;
  g.selected = 5;
  return g;
}

void expectRow(const Row &row, const std::function<double(int64_t)> &score) {
  const Geometry g = smallSelection();
  const auto blocks = selectBlocks(g, row.t, score);
  EXPECT_EQ(blocks, row.blocks) << "t = " << row.t;
  EXPECT_EQ(blockRanges(g, row.t, blocks), row.ranges) << "t = " << row.t;
}

TEST(Golden, Selection) {
  const auto score = [](int64_t j) {
    return static_cast<double>((37 * j + 11) % 64) / 64;
  };
  const std::vector<Row> rows = {
      {0, {0}, {{0, 1}}},
      {7, {0}, {{0, 8}}},
      {8, {0, 1}, {{0, 9}}},
      {16, {0, 1, 2}, {{0, 17}}},
      {31, {0, 1, 2, 3}, {{0, 32}}},
      {39, {0, 1, 2, 3, 4}, {{0, 40}}},
      {40, {0, 1, 3, 4, 5}, {{0, 16}, {24, 41}}},
      {63, {0, 1, 3, 6, 7}, {{0, 16}, {24, 32}, {48, 64}}},
      {100, {0, 3, 10, 11, 12}, {{0, 8}, {24, 32}, {80, 101}}},
      {127, {0, 3, 10, 14, 15}, {{0, 8}, {24, 32}, {80, 88}, {112, 128}}},
      {159, {0, 3, 10, 18, 19}, {{0, 8}, {24, 32}, {80, 88}, {144, 160}}}};
  for (const Row &row : rows)
    expectRow(row, score);
}

TEST(Golden, Ties) {
  const std::vector<Row> rows = {
      {63, {0, 1, 2, 6, 7}, {{0, 24}, {48, 64}}},
      {100, {0, 1, 2, 11, 12}, {{0, 24}, {88, 101}}},
      {159, {0, 1, 2, 18, 19}, {{0, 24}, {144, 160}}}};
  for (const Row &row : rows)
    expectRow(row, [](int64_t) { return 0.25; });
}

TEST(Golden, OddScores) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // NaN last; -0 and +0 tie.
  expectRow({63, {0, 2, 3, 6, 7}, {{0, 8}, {16, 32}, {48, 64}}},
            [&](int64_t j) { return j == 1 ? nan : 0.0; });
  expectRow({63, {0, 1, 2, 6, 7}, {{0, 24}, {48, 64}}},
            [&](int64_t j) { return j == 1 ? -0.0 : 0.0; });
  expectRow({63, {0, 1, 2, 6, 7}, {{0, 24}, {48, 64}}},
            [&](int64_t) { return nan; });
}

TEST(Golden, RangesOfOddInput) {
  const Geometry g = smallSelection();
  EXPECT_EQ(blockRanges(g, 20, {1, 1, -1, 9, 2}), (Ranges{{8, 21}}));
  EXPECT_EQ(blockRanges(g, 20, {}), Ranges{});
}

Array fill(std::vector<int64_t> sizes, int64_t a, int64_t b) {
  Array array(std::move(sizes));
  for (std::size_t i = 0; i < array.values.size(); ++i)
    array.values[i] =
        4 * (static_cast<double>((static_cast<int64_t>(i) * a + b) % 97) / 97 -
             0.5);
  return array;
}

struct BranchRow {
  int64_t t;
  int64_t visible;
  std::array<double, 3> scores;
  Ranges ranges;
  std::array<double, 4> compressed; // head 0: dv0, dv1; head 1: dv0, dv1
  std::array<double, 4> selected;
  std::array<double, 4> window;
};

const std::vector<BranchRow> branchRows = {
    {0,
     0,
     {0, 0, 0},
     {{0, 1}},
     {0, 0, 0, 0},
     {-1.917526, -1.134021, -1.917526, -1.134021},
     {-1.628866, -0.103093, -1.628866, -0.103093}},
    {2,
     0,
     {0, 0, 0},
     {{0, 3}},
     {0, 0, 0, 0},
     {-1.515887, -1.142843, -0.304725, 0.344932},
     {-1.158862, -0.374100, 0.764031, -1.462086}},
    {3,
     1,
     {4, 0, 0},
     {{0, 4}},
     {-0.041237, 0.237113, -0.041237, 0.237113},
     {-1.308043, -0.841884, -0.310113, 0.353563},
     {0.441984, -0.630341, 0.479603, -0.672611}},
    {5,
     2,
     {2.764473, 1.235527, 0},
     {{0, 6}},
     {0.017187, 0.295537, 0.040450, 0.318801},
     {-0.604594, -0.720664, 0.297692, 0.997525},
     {-0.010674, 0.104090, -0.929753, 0.507470}},
    {7,
     3,
     {1.915505, 2.084495, 0},
     {{0, 8}},
     {0.068453, 0.346804, 0.085459, 0.363809},
     {-0.254988, -0.218373, -0.135650, 0.534098},
     {0.941428, -0.711446, 0.469411, -0.201564}},
    {9,
     4,
     {1.557075, 1.923786, 0.519139},
     {{0, 10}},
     {0.134842, 0.071435, 0.118588, 0.219557},
     {1.467765, -1.419306, -0.324212, 0.237239},
     {-0.043414, 0.466234, 0.190548, 0.244876}},
    {11,
     5,
     {1.272685, 1.556273, 1.171042},
     {{0, 12}},
     {0.084646, -0.022069, -0.052061, 0.094358},
     {-0.732373, -0.079498, -0.059502, 0.005124},
     {1.729845, -0.600302, 0.661679, -0.239439}}};

TEST(Golden, Branches) {
  Geometry g;
  g.blockLength = 4;
  g.blockStride = 2;
  g.selectionLength = 4;
  g.selected = 3;
  g.window = 3;
  constexpr int64_t length = 12, heads = 2, dk = 4, dv = 2;
  validate(g, heads, 1, dk);
  const Offsets cu{0, length};
  const double scale = 0.5;
  Array q = fill({length, heads, dk}, 13, 5);
  Array kCmp = fill({length, 1, dk}, 29, 7),
        vCmp = fill({length, 1, dv}, 31, 3);
  Array kSel = fill({length, 1, dk}, 17, 11),
        vSel = fill({length, 1, dv}, 19, 2);
  Array kWin = fill({length, 1, dk}, 23, 1),
        vWin = fill({length, 1, dv}, 37, 9);

  const int64_t rows = compressedCount(g, length);
  Array kTilde({rows, 1, dk}), vTilde({rows, 1, dv});
  compressMean(kCmp, g, cu, kTilde);
  compressMean(vCmp, g, cu, vTilde);
  Array oCmp({length, heads, dv}), oSel({length, heads, dv}),
      oWin({length, heads, dv});
  Array lse({heads, length}), otherLse({heads, length});
  attention(q, kTilde, vTilde, compressedKeys(g, cu), scale, oCmp, lse);
  Array scores({1, length, selectionBlocks(g, length)});
  blockScores(q, kTilde, lse, g, cu, scale, scores);
  IndexArray indices({1, length, g.selected}),
      ranges({1, length, g.selected, 2});
  select(g, cu, scores, indices);
  selectedRanges(g, cu, indices, ranges);
  attention(q, kSel, vSel, selectedKeys(g, cu, indices), scale, oSel, otherLse);
  attention(q, kWin, vWin, windowKeys(cu, g.window), scale, oWin, otherLse);

  const Tensor p = scores.view();
  const IndexTensor r = ranges.view();
  for (const BranchRow &row : branchRows) {
    SCOPED_TRACE("t = " + std::to_string(row.t));
    EXPECT_EQ(visibleCompressed(g, row.t), row.visible);
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(p(0, row.t, j), row.scores[j], 6e-7);
    for (std::size_t slot = 0; slot < 3; ++slot) {
      const bool used = slot < row.ranges.size();
      EXPECT_EQ(r(0, row.t, slot, 0), used ? row.ranges[slot].first : 0);
      EXPECT_EQ(r(0, row.t, slot, 1), used ? row.ranges[slot].second : 0);
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(oCmp.view()(row.t, i / 2, i % 2), row.compressed[i], 6e-7);
      EXPECT_NEAR(oSel.view()(row.t, i / 2, i % 2), row.selected[i], 6e-7);
      EXPECT_NEAR(oWin.view()(row.t, i / 2, i % 2), row.window[i], 6e-7);
    }
  }
  EXPECT_EQ(lse.view()(0, 2), -std::numeric_limits<double>::infinity());
}

// Packed sequences, an empty one and one shorter than a block among them, give
// what each gives alone.
TEST(Golden, PackedEqualsSingle) {
  Geometry g;
  g.blockLength = 4;
  g.blockStride = 2;
  g.selectionLength = 4;
  g.selected = 4;
  const Offsets cu{0, 11, 11, 13, 40};
  Array q = fill({40, 2, 4}, 13, 5), k = fill({40, 1, 4}, 29, 7),
        v = fill({40, 1, 2}, 31, 3);
  const auto run = [&](Tensor q, Tensor k, Tensor v, const Offsets &cu) {
    const int64_t tokens = q.size(0);
    Array kTilde({compressedOffsets(g, cu).back(), 1, 4});
    Array vTilde({compressedOffsets(g, cu).back(), 1, 2});
    compressMean(k, g, cu, kTilde);
    compressMean(v, g, cu, vTilde);
    Array o({tokens, 2, 2}), lse({2, tokens}), scores({1, tokens, 10});
    attention(q, kTilde, vTilde, compressedKeys(g, cu), 0.5, o, lse);
    blockScores(q, kTilde, lse, g, cu, 0.5, scores);
    IndexArray indices({1, tokens, 4});
    select(g, cu, scores, indices);
    Array selected({tokens, 2, 2}), unused({2, tokens});
    attention(q, k, v, selectedKeys(g, cu, indices), 0.5, selected, unused);
    o.values.insert(o.values.end(), selected.values.begin(),
                    selected.values.end());
    return o.values;
  };
  const std::vector<double> packed = run(q, k, v, cu);
  for (std::size_t b = 0; b + 1 < cu.size(); ++b) {
    const int64_t tokens = cu[b + 1] - cu[b];
    const auto part = [&](Tensor x) {
      x.data += cu[b] * x.strides[0];
      x.sizes[0] = tokens;
      return x;
    };
    const std::vector<double> alone =
        run(part(q), part(k), part(v), {0, cu[b + 1] - cu[b]});
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t i = 0; i < tokens * 4; ++i)
        EXPECT_EQ(alone[half * tokens * 4 + i],
                  packed[half * 160 + cu[b] * 4 + i]);
  }
}

} // namespace
