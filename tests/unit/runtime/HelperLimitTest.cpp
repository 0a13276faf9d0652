// tests/unit/runtime/HelperLimitTest.cpp - how many threads help.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/HelperLimit.h"

#include <gtest/gtest.h>

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
