// tests/unit/runtime/HelperLimitTest.cpp - how many threads help.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/HelperLimit.h"

#include <gtest/gtest.h>

#include <utility>

using tessera::runtime::HelperLimit;

static constexpr uint64_t millisecond = 1'000'000;

TEST(HelperLimit, AllHelpersUntilOneLosesItsCore) {
  HelperLimit limit(3);
  EXPECT_EQ(limit.allowed(0), 3);
  EXPECT_EQ(limit.allowed(1000 * millisecond), 3);
  limit.lostCore(1000 * millisecond);
  EXPECT_EQ(limit.allowed(1001 * millisecond), 2);
  EXPECT_EQ(limit.allowed(1009 * millisecond), 2);
  EXPECT_EQ(limit.allowed(1010 * millisecond), 3);
}

// Counts the losses of a helper whose core another process always uses.
TEST(HelperLimit, ACoreThatStaysBusyIsTriedOnceASecond) {
  HelperLimit limit(1);
  int losses = 0, late = 0;
  for (uint64_t ms = 0; ms < 10000; ++ms)
    if (limit.allowed(ms * millisecond)) {
      limit.lostCore(ms * millisecond);
      ++losses;
      late += ms >= 5000;
    }
  // At 0, 10, 30, 70 ... 1,270 ms, then each second.
  EXPECT_EQ(losses, 16);
  EXPECT_EQ(late, 5);
}

TEST(HelperLimit, AfterAQuietTimeThePauseIsShortAgain) {
  HelperLimit limit(1);
  for (uint64_t ms = 0; ms < 3000; ++ms)
    if (limit.allowed(ms * millisecond))
      limit.lostCore(ms * millisecond);
  uint64_t ms = 3000;
  while (!limit.allowed(ms * millisecond))
    ++ms;
  ms += 10001;
  limit.lostCore(ms * millisecond);
  EXPECT_EQ(limit.allowed((ms + 9) * millisecond), 0);
  EXPECT_EQ(limit.allowed((ms + 10) * millisecond), 1);
}

TEST(HelperLimit, OneHelperAtATime) {
  HelperLimit limit(3);
  limit.lostCore(0);
  limit.lostCore(0);
  EXPECT_EQ(limit.allowed(0), 1);
  limit.lostCore(0);
  limit.lostCore(0); // none is left
  EXPECT_EQ(limit.allowed(0), 0);
  EXPECT_EQ(limit.allowed(1000 * millisecond), 1);
  EXPECT_EQ(limit.allowed(1000 * millisecond), 1);
  EXPECT_EQ(limit.allowed(3000 * millisecond), 2);
}

namespace {

// How often the limit sent the helper to sleep in so many milliseconds, and how
// long it was allowed. While it is, it computes for `computed` microseconds,
// then has no core for `lost` microseconds, and so on.
std::pair<int, double> pauses(HelperLimit &limit, uint64_t computed,
                              uint64_t lost, uint64_t from, uint64_t to) {
  int count = 0;
  uint64_t allowed = 0, time = from * millisecond;
  while (time < to * millisecond) {
    if (!limit.allowed(time)) {
      time += millisecond;
      continue;
    }
    time += (computed + lost) * 1000;
    allowed += (computed + lost) * 1000;
    limit.helped(time, computed * 1000, lost * 1000);
    count += !limit.allowed(time);
  }
  return {count, double(allowed) / double((to - from) * millisecond)};
}

} // namespace

// As a process was seen to lose its cores to short ones.
TEST(HelperLimit, RareShortLossesAreNoReasonToSleep) {
  HelperLimit limit(1);
  EXPECT_EQ(pauses(limit, 45'000, 1'100, 0, 10'000).first, 0);
}

TEST(HelperLimit, ACoreThatIsSharedIsLeft) {
  HelperLimit limit(1);
  const auto [count, share] = pauses(limit, 3'000, 3'000, 0, 10'000);
  EXPECT_LE(count, 17);
  EXPECT_LT(share, 0.02);
}

// Past savings are forgotten: they pay for a few losses at most.
TEST(HelperLimit, AfterALongQuietTimeASharedCoreIsLeftAtOnce) {
  HelperLimit limit(1);
  limit.helped(0, 3'600'000 * millisecond, 0);
  EXPECT_LT(pauses(limit, 3'000, 3'000, 0, 100).second, 0.75);
  EXPECT_LT(pauses(limit, 3'000, 3'000, 100, 10'000).second, 0.02);
}

// If one of four helpers has no core for half of the time, all wait for it.
TEST(HelperLimit, SavingsAreThoseOfOneHelper) {
  HelperLimit limit(4);
  limit.helped(0, 4 * 3 * millisecond, 3 * millisecond);
  EXPECT_EQ(limit.allowed(1), 3);
}
