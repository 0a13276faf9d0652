// tests/unit/models/NsaMasksTest.cpp - selection and Eq. 9, fixed vectors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/NsaMasks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <limits>

using namespace tessera::models;

namespace {

std::vector<int64_t> row(const at::Tensor &t) {
  const at::Tensor c = t.contiguous();
  return {c.const_data_ptr<int64_t>(), c.const_data_ptr<int64_t>() + c.numel()};
}

/// Blocks that query t keeps of 20 scores.
std::vector<int64_t> select(const at::Tensor &scores, int64_t t) {
  const NsaGeometry g{8, 8, 8, 5, 0};
  return row(selectBlocks(scores.view({1, 20}), g, t, t + 1)[0]);
}

using Blocks = std::vector<int64_t>;

TEST(Selection, GoldenScores) {
  const at::Tensor p =
      ((at::arange(20) * 37 + 11).remainder(64)).to(at::kFloat) / 64;
  EXPECT_EQ(select(p, 0), (Blocks{0, -1, -1, -1, -1}));
  EXPECT_EQ(select(p, 8), (Blocks{0, 1, -1, -1, -1}));
  EXPECT_EQ(select(p, 31), (Blocks{0, 1, 2, 3, -1}));
  EXPECT_EQ(select(p, 39), (Blocks{0, 1, 2, 3, 4}));
  EXPECT_EQ(select(p, 40), (Blocks{0, 1, 3, 4, 5}));
  EXPECT_EQ(select(p, 63), (Blocks{0, 1, 3, 6, 7}));
  EXPECT_EQ(select(p, 100), (Blocks{0, 3, 10, 11, 12}));
  EXPECT_EQ(select(p, 127), (Blocks{0, 3, 10, 14, 15}));
  EXPECT_EQ(select(p, 159), (Blocks{0, 3, 10, 18, 19}));
}

TEST(Selection, TheLowerIndexWinsATie) {
  const at::Tensor p = at::full({20}, 0.25);
  EXPECT_EQ(select(p, 63), (Blocks{0, 1, 2, 6, 7}));
  EXPECT_EQ(select(p, 100), (Blocks{0, 1, 2, 11, 12}));
  EXPECT_EQ(select(p, 159), (Blocks{0, 1, 2, 18, 19}));
  // Neither signed zeros nor a difference of one unit in the last place are
  // ties or non-ties by accident.
  at::Tensor q = at::full({20}, 0.5);
  q[9] = 0.5 + std::numeric_limits<float>::epsilon();
  EXPECT_EQ(select(q, 159), (Blocks{0, 1, 9, 18, 19}));
  at::Tensor zeros = at::full({20}, -0.0);
  zeros[7] = 0.0;
  EXPECT_EQ(select(zeros, 159), (Blocks{0, 1, 2, 18, 19}));
}

TEST(Selection, NotANumberRanksLast) {
  at::Tensor p = at::full({20}, 0.25);
  p.slice(0, 1, 16).fill_(std::numeric_limits<float>::quiet_NaN());
  p[12] = -3;
  EXPECT_EQ(select(p, 159), (Blocks{0, 16, 17, 18, 19}));
  p[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(select(p, 159), (Blocks{0, 12, 16, 18, 19}));
}

TEST(ScoreWeights, MatchTheTableOfTheSpecification) {
  const at::Tensor paper = scoreWeights({32, 16, 64, 16, 512}, 12, 3);
  EXPECT_EQ(row(paper.select(1, 0).to(at::kLong)),
            (Blocks{2, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(row(paper.select(1, 1).to(at::kLong)),
            (Blocks{0, 0, 0, 1, 2, 2, 2, 1, 0, 0, 0, 0}));
  const at::Tensor wide = scoreWeights({64, 16, 64, 16, 512}, 8, 2);
  EXPECT_EQ(row(wide.select(1, 1).to(at::kLong)),
            (Blocks{0, 1, 2, 3, 4, 3, 2, 1}));
}

TEST(Visibility, MatchesItsDefinition) {
  const NsaGeometry g{4, 2, 4, 3, 3};
  const at::Tensor cmp = compressedVisible(g, 0, 12, 5);
  const at::Tensor win = windowVisible(g.window, 5, 12, 3);
  for (int64_t t = 0; t < 12; ++t)
    for (int64_t i = 0; i < 5; ++i)
      EXPECT_EQ(cmp[t][i].item<bool>(), i * 2 + 4 <= t + 1);
  for (int64_t t = 5; t < 12; ++t)
    for (int64_t key = 3; key < 12; ++key)
      EXPECT_EQ(win[t - 5][key - 3].item<bool>(), key <= t && key >= t - 2);
  const at::Tensor blocks = at::tensor({0, 2, -1}, at::kLong).view({1, 3});
  EXPECT_EQ(row(selectedVisible(blocks, g, 9, 10)[0].to(at::kLong)),
            (Blocks{1, 1, 1, 1, 0, 0, 0, 0, 1, 1}));
}

// Of a list in any order a block counts once; negative numbers and blocks
// after the query name no keys.
TEST(Visibility, OfAnyListOfBlocks) {
  const NsaGeometry g{4, 2, 4, 3, 3};
  for (const Blocks &list : {Blocks{2, 0, 0, -1, 3}, Blocks{-1, 0, 2, 2, 7},
                             Blocks{-5, int64_t(1) << 40, 2, 3, 0}}) {
    const at::Tensor blocks = at::tensor(list, at::kLong).view({1, 5});
    EXPECT_EQ(row(selectedVisible(blocks, g, 9, 10)[0].to(at::kLong)),
              (Blocks{1, 1, 1, 1, 0, 0, 0, 0, 1, 1}));
  }
}

} // namespace
