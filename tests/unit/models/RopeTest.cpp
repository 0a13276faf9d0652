// tests/unit/models/RopeTest.cpp - frequencies by the formulas of the papers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Rope.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::models;

namespace {

TEST(Rope, UnscaledAndLinearFrequencies) {
  Rope rope;
  const std::vector<double> own = ropeFrequencies(rope, 8);
  ASSERT_EQ(own.size(), 4u);
  for (int i = 0; i < 4; ++i)
    EXPECT_DOUBLE_EQ(own[size_t(i)], std::pow(10.0, -i)) << i;
  rope.scale = 4;
  const std::vector<double> divided = ropeFrequencies(rope, 8);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_DOUBLE_EQ(divided[i], own[i] / 4) << i;
  EXPECT_EQ(ropeMagnitude(rope), 1);
}

// By hand: 16 pairs of base 10000 in 4,096 tokens. Pair i makes
// 4096 / (2 pi 10000^(i / 16)) turns: 32 at 5.23, 1 at 11.26, so pairs up to 5
// stay, those from 12 on are divided by 8, and in between it is a line.
TEST(Rope, YarnLeavesFastPairsAndDividesSlowOnes) {
  Rope rope{.scaling = RopeScaling::Yarn, .scale = 8, .originalLength = 4096};
  const std::vector<double> found = ropeFrequencies(rope, 32);
  ASSERT_EQ(found.size(), 16u);
  for (int i = 0; i < 16; ++i) {
    const double own = std::pow(10000.0, -i / 16.0);
    const double divided = i <= 5 ? 0 : i >= 12 ? 1 : (i - 5) / 7.0;
    EXPECT_NEAR(found[size_t(i)] / own, divided / 8 + 1 - divided, 1e-12) << i;
  }
  EXPECT_NEAR(ropeMagnitude(rope), 1.2079441541679836, 1e-15);
  rope.scale = 1;
  EXPECT_EQ(ropeFrequencies(rope, 32), ropeFrequencies(Rope(), 32));
  EXPECT_EQ(ropeMagnitude(rope), 1);
}

TEST(Rope, YarnOfATextInWhichEveryPairIsFast) {
  const Rope rope{.base = 1.5,
                  .scaling = RopeScaling::Yarn,
                  .scale = 8,
                  .originalLength = 1 << 20};
  EXPECT_EQ(ropeFrequencies(rope, 8), ropeFrequencies(Rope{.base = 1.5}, 8));
}

} // namespace
