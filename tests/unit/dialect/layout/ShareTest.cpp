// tests/unit/dialect/layout/ShareTest.cpp - copies shared out among lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/Share.h"

#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace tessera::layout;

namespace {

// The elements that a warp holds in its lanes together.
std::set<Word> heldBy(const LinearLayout &layout, Word warp) {
  std::set<Word> held;
  for (Word lane = 0; lane < Word(layout.inSize(Dim::Lane)); ++lane)
    for (Word reg = 0; reg < Word(layout.inSize(Dim::Register)); ++reg)
      held.insert(layout.apply(reg << layout.inStart(Dim::Register) |
                               lane << layout.inStart(Dim::Lane) |
                               warp << layout.inStart(Dim::Warp)));
  return held;
}

// The elements that one lane holds.
std::set<Word> inLane(const LinearLayout &layout, Word lane) {
  std::set<Word> held;
  for (Word reg = 0; reg < Word(layout.inSize(Dim::Register)); ++reg)
    held.insert(layout.apply(reg << layout.inStart(Dim::Register) |
                             lane << layout.inStart(Dim::Lane)));
  return held;
}

} // namespace

TEST(Share, CopiesOfRegistersBecomeSharesOfLanes) {
  Random random(31);
  size_t shared = 0;
  for (int i = 0; i < 60; ++i) {
    const LinearLayout whole =
        slice(random.distributed({{Dim::Dim0, 4}, {Dim::Dim1, 5}}, 1, 0, i % 2),
              i % 2);
    const LinearLayout shares = shareReplication(whole);
    EXPECT_EQ(shares.outs(), whole.outs());
    for (Word warp = 0; warp < Word(whole.inSize(Dim::Warp)); ++warp)
      EXPECT_EQ(heldBy(shares, warp), heldBy(whole, warp));
    // No lane needs what it did not hold, and lanes are left out only where
    // registers are not to be had.
    for (Word lane = 0; lane < Word(whole.inSize(Dim::Lane)); ++lane) {
      const auto before = inLane(whole, lane);
      for (Word element : inLane(shares, lane))
        EXPECT_TRUE(before.count(element)) << lane;
    }
    const std::vector<Word> lanes = shares.columns(Dim::Lane);
    EXPECT_TRUE(shares.inBits(Dim::Register) == 0 ||
                std::count(lanes.begin(), lanes.end(), 0) == 0);
    shared += shares != whole;
  }
  EXPECT_GE(shared, 20u);
}

TEST(Share, OfAnAccumulatorsRowsEachLaneKeepsOne) {
  // Four lanes share a row, and each lane has elements of two rows of 16.
  const LinearLayout tile = mmaAccumulator({16, 32}, {{1, 1}});
  const auto rows = scatteredSlice(tile, 1);
  ASSERT_TRUE(rows);
  EXPECT_EQ(slice(tile, 1).inSize(Dim::Register), 2);
  EXPECT_EQ(rows->inSize(Dim::Register), 1);
  EXPECT_EQ(rows->columns(Dim::Lane), (std::vector<Word>{8, 0, 1, 2, 4}));
  // Eight lanes share a column, each lane has elements of eight columns: one is
  // left.
  const auto columns = scatteredSlice(tile, 0);
  ASSERT_TRUE(columns);
  EXPECT_EQ(slice(tile, 0).inSize(Dim::Register), 8);
  EXPECT_EQ(columns->inSize(Dim::Register), 1);
  EXPECT_EQ(heldBy(*columns, 0).size(), 32u);
}

TEST(Share, NothingToScatter) {
  // Rows split across two warps; rows in registers alone; one row in each lane.
  EXPECT_FALSE(scatteredSlice(mmaAccumulator({16, 32}, {{1, 2}}), 1));
  EXPECT_FALSE(
      scatteredSlice(blocked({32, 8}, {{1, 8}, {32, 1}, {1, 1}, {1, 0}}), 1));
  EXPECT_FALSE(
      scatteredSlice(blocked({8, 32}, {{1, 8}, {8, 4}, {1, 1}, {1, 0}}), 1));
  // A register or lane bit that moves along both axes at once.
  EXPECT_FALSE(scatteredSlice(
      LinearLayout({{Dim::Register, 2}, {Dim::Lane, 2}, {Dim::Warp, 0}},
                   {{Dim::Dim0, 2}, {Dim::Dim1, 2}}, {1, 2, 4 | 1, 8}),
      1));
}
