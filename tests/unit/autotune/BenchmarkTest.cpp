// tests/unit/autotune/BenchmarkTest.cpp - tests of autotune/Benchmark.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/Benchmark.h"

#include <gtest/gtest.h>

#include <optional>

using namespace tessera::tune;

TEST(Sample, MedianAndQuartiles) {
  const Sample sample = sampleOf({5, 1, 3, 2, 4});
  EXPECT_DOUBLE_EQ(sample.median, 3);
  EXPECT_DOUBLE_EQ(sample.spread, 2.0 / 3);
  EXPECT_DOUBLE_EQ(sampleOf({2, 4}).median, 3);
  EXPECT_DOUBLE_EQ(sampleOf({7}).median, 7);
  EXPECT_DOUBLE_EQ(sampleOf({7}).spread, 0);
  // One disturbed measurement of many moves neither.
  EXPECT_LT(sampleOf({1, 1, 1, 1, 1, 1, 100}).spread, 0.01);
}

// What this process does is not the load of others.
TEST(LoadWatch, TellsOthersFromThisProcess) {
  const LoadWatch watch;
  EXPECT_FALSE(watch.othersBusy()); // too short to tell
  std::optional<double> busy;
  for (int i = 0; i < 10000 && !busy; ++i) {
    EXPECT_GT(timeControl(), 0);
    busy = watch.othersBusy();
  }
  ASSERT_TRUE(busy);
  EXPECT_GE(*busy, 0);
}
