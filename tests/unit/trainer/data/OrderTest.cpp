// tests/unit/trainer/data/OrderTest.cpp - permutations and windows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Order.h"

#include "trainer/settings/Config.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::trainer;

namespace {

TEST(Order, APermutationHasEveryNumberOnce) {
  for (const uint64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 1000}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t image = permuted(i, count, 7);
      EXPECT_LT(image, count);
      seen.insert(image);
    }
    EXPECT_EQ(seen.size(), count);
  }
  // Also where nothing could be stored.
  const uint64_t huge = (uint64_t(1) << 40) + 3;
  EXPECT_LT(permuted(huge - 1, huge, 1), huge);
  EXPECT_NE(permuted(5, huge, 1), permuted(5, huge, 2));
}

TEST(Order, AShuffledPassIsNotInOrder) {
  int fixed = 0, rising = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    fixed += permuted(i, 1000, 3) == i;
    rising += i > 0 && permuted(i, 1000, 3) > permuted(i - 1, 1000, 3);
  }
  EXPECT_LT(fixed, 10); // one is expected
  EXPECT_NEAR(rising, 500, 80);
}

TEST(Order, PassesCoverTheDataWithoutOverlap) {
  // 10 windows of 8 and a rest.
  for (const DataOrder order : {DataOrder::Shuffled, DataOrder::Sequential}) {
    const WindowOrder windows(order, 5, 84, 8);
    EXPECT_EQ(windows.windowsPerPass(), 10);
    std::set<int64_t> first, second;
    std::vector<int64_t> a, b;
    for (int64_t i = 0; i < 10; ++i) {
      a.push_back(windows.start(i));
      b.push_back(windows.start(10 + i));
      first.insert(a.back());
      second.insert(b.back());
      EXPECT_EQ(a.back() % 8, 0);
      EXPECT_LE(a.back() + 9, 84);
    }
    EXPECT_EQ(first.size(), 10u);
    EXPECT_EQ(second, first);
    EXPECT_EQ(a == b, order == DataOrder::Sequential);
  }
}

TEST(Order, RandomReachesBothEnds) {
  const WindowOrder windows(DataOrder::Random, 1, 10, 8);
  std::set<int64_t> starts;
  for (int64_t i = 0; i < 64; ++i)
    starts.insert(windows.start(i));
  EXPECT_EQ(starts, (std::set<int64_t>{0, 1}));
}

} // namespace
