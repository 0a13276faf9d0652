// tests/unit/autotune/search/BenchmarkTest.cpp - tests of
// autotune/search/Benchmark.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Benchmark.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

using namespace tessera::tune;

// A millisecond of 0.13 us each are 7693 launches: fewer would be noise.
TEST(TuneBenchmark, TheShortestLaunchesAreTimedForAsLong) {
  EXPECT_EQ(launchesFor(0.13e-6, 1e-3), 7693);
  EXPECT_EQ(launchesFor(3e-3, 1e-3), 1);
  EXPECT_EQ(launchesFor(0, 1e-3), 10000);
}

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

// A machine that is ten times as slow for a while, for both: the gain is 1.25
// in every turn, while the times alone overlap.
TEST(TurnGain, ComparesTurnByTurn) {
  const auto gain = turnGain({9, 5, 50, 5, 50}, {4, 40, 4, 40});
  ASSERT_TRUE(gain);
  EXPECT_DOUBLE_EQ(gain->median, 1.25);
  EXPECT_DOUBLE_EQ(gain->spread, 0);
  EXPECT_FALSE(turnGain({1, 2, 3}, {1, 2}));
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

// Time in which another program has the processor is none of the launch's; here
// it is this process that gives it away.
TEST(LaunchClock, OneThreadIsTimedByItsProcessor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("TESSERA_THREADS", "1", 1);
        const double start = launchClock();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        std::exit(launchClock() - start < 0.1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}
