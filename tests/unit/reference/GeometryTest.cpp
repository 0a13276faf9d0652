// tests/unit/reference/GeometryTest.cpp - validation, counts, Eq. 9 weights and
// read counters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Geometry.h"

#include <gtest/gtest.h>
#include <map>
#include <stdexcept>

using namespace tessera::reference;

namespace {

using Weights = std::map<int64_t, int64_t>;

// Non-zero weights of selection block j by compressed block.
Weights weightsOf(const Geometry &g, int64_t j) {
  Weights weights;
  for (int64_t i = 0; i < 64; ++i)
    if (const double w = scoreWeight(g, i, j); w != 0)
      weights[i] = static_cast<int64_t>(w);
  return weights;
}

Geometry geometryOf(int64_t l, int64_t d, int64_t lSel) {
  Geometry g;
  g.blockLength = l;
  g.blockStride = d;
  g.selectionLength = lSel;
  return g;
}

std::string errorOf(const Geometry &g, int64_t queryHeads = 4,
                    int64_t keyHeads = 2, int64_t dim = 16) {
  try {
    validate(g, queryHeads, keyHeads, dim);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "";
}

TEST(Geometry, Eq9InteriorAndFirstBlock) {
  EXPECT_EQ(weightsOf(geometryOf(32, 16, 64), 2),
            (Weights{{7, 1}, {8, 2}, {9, 2}, {10, 2}, {11, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(32, 16, 64), 0),
            (Weights{{0, 2}, {1, 2}, {2, 2}, {3, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(16, 8, 32), 2),
            (Weights{{7, 1}, {8, 2}, {9, 2}, {10, 2}, {11, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(32, 32, 64), 2), (Weights{{4, 1}, {5, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(32, 32, 64), 0), (Weights{{0, 1}, {1, 1}}));
  EXPECT_EQ(
      weightsOf(geometryOf(64, 16, 64), 2),
      (Weights{{5, 1}, {6, 2}, {7, 3}, {8, 4}, {9, 3}, {10, 2}, {11, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(64, 16, 64), 0),
            (Weights{{0, 4}, {1, 3}, {2, 2}, {3, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(32, 16, 32), 2),
            (Weights{{3, 1}, {4, 2}, {5, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(32, 16, 32), 0), (Weights{{0, 2}, {1, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(32, 8, 64), 2), (Weights{{13, 1},
                                                          {14, 2},
                                                          {15, 3},
                                                          {16, 4},
                                                          {17, 4},
                                                          {18, 4},
                                                          {19, 4},
                                                          {20, 4},
                                                          {21, 3},
                                                          {22, 2},
                                                          {23, 1}}));
  EXPECT_EQ(
      weightsOf(geometryOf(32, 8, 64), 0),
      (Weights{
          {0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 4}, {5, 3}, {6, 2}, {7, 1}}));
  EXPECT_EQ(weightsOf(geometryOf(16, 16, 16), 2), (Weights{{2, 1}}));
}

// The printed form of Eq. 9, a double sum with 1-based indices on both sides.
TEST(Geometry, Eq9PrintedForm) {
  for (auto [l, d, lSel] : {std::array<int64_t, 3>{32, 16, 64},
                            {64, 16, 64},
                            {32, 8, 64},
                            {32, 32, 64},
                            {32, 16, 32},
                            {16, 16, 16},
                            {16, 8, 32}}) {
    const Geometry g = geometryOf(l, d, lSel);
    for (int64_t j = 1; j <= 5; ++j) {
      Weights printed;
      for (int64_t m = 0; m < lSel / d; ++m)
        for (int64_t n = 0; n < l / d; ++n)
          if (const int64_t i = lSel / d * j - m - n; i >= 1)
            ++printed[i - 1];
      EXPECT_EQ(weightsOf(g, j - 1), printed)
          << l << ' ' << d << ' ' << lSel << ' ' << j;
    }
  }
}

TEST(Geometry, GeneralOverlap) {
  Geometry g = geometryOf(10, 4, 7);
  const int64_t tokens[5][4] = {
      {7, 3}, {3, 7}, {0, 6, 4}, {0, 2, 7, 1}, {0, 0, 5, 5}};
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(overlap(g, i, j), tokens[i][j]) << i << ' ' << j;
  EXPECT_NE(errorOf(g), "");
  g.generalOverlap = true;
  EXPECT_EQ(errorOf(g), "");
  EXPECT_DOUBLE_EQ(scoreWeight(g, 0, 1), 0.3);
}

TEST(Geometry, CompressedCounts) {
  const Geometry g;
  EXPECT_EQ(compressedCount(g, 31), 0);
  EXPECT_EQ(compressedCount(g, 32), 1);
  EXPECT_EQ(compressedCount(g, 47), 1);
  EXPECT_EQ(compressedCount(g, 48), 2);
  EXPECT_EQ(visibleCompressed(g, 30), 0);
  EXPECT_EQ(visibleCompressed(g, 31), 1);
  EXPECT_EQ(visibleCompressed(g, 47), 2);
  EXPECT_EQ(compressedOffsets(g, {0, 0, 31, 63, 111}),
            (Offsets{0, 0, 0, 1, 3}));
}

TEST(Geometry, ReadCounters) {
  const int64_t table[][4] = {
      {1, 0, 1025, 2},           {31, 0, 1055, 62},
      {32, 1, 1057, 65},         {48, 2, 1074, 98},
      {64, 3, 1091, 131},        {128, 7, 1159, 263},
      {256, 15, 1295, 527},      {512, 31, 1567, 1055},
      {576, 35, 1571, 1123},     {1024, 63, 1599, 1599},
      {2048, 127, 1663, 1663},   {4096, 255, 1791, 1791},
      {8192, 511, 2047, 2047},   {16384, 1023, 2559, 2559},
      {32768, 2047, 3583, 3583}, {65536, 4095, 5631, 5631}};
  const Geometry g;
  for (const auto &[length, compressed, nominal, exact] : table) {
    EXPECT_EQ(compressedCount(g, length), compressed) << length;
    EXPECT_EQ(nominalReads(g, length).total(), nominal) << length;
    EXPECT_EQ(exactReads(g, length).total(), exact) << length;
  }
}

TEST(Geometry, Validation) {
  EXPECT_EQ(errorOf(Geometry()), "");
  Geometry off;
  off.selected = 0;
  off.window = 0;
  EXPECT_EQ(errorOf(off), "");

  const auto broken = [](auto change) {
    Geometry g;
    change(g);
    return errorOf(g);
  };
  EXPECT_NE(broken([](Geometry &g) { g.blockLength = 0; }).find("l = 0"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.blockStride = 0; }).find("d = 0"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.blockStride = 64; }).find("d = 64"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.blockStride = 12; }).find("d = 12"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.selectionLength = 40; }).find("l' = 40"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.selectionLength = 0; }).find("l' = 0"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.selected = 2; }).find("n = 2"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.selected = -1; }).find("n = -1"),
            std::string::npos);
  EXPECT_NE(broken([](Geometry &g) { g.window = -1; }).find("w = -1"),
            std::string::npos);
  EXPECT_NE(errorOf(Geometry(), 5, 2).find("query heads = 5"),
            std::string::npos);
  EXPECT_NE(errorOf(Geometry(), 4, 2, 15).find("dimension = 15"),
            std::string::npos);
}

} // namespace
