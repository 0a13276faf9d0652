// tests/unit/support/StopSignalsTest.cpp - the first signal is remembered, the
// second one ends the process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/StopSignals.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace tessera;

TEST(StopSignals, RemembersTheFirstSignal) {
  for (const int number : {SIGINT, SIGTERM}) {
    const StopSignals signals;
    EXPECT_EQ(StopSignals::received(), 0);
    EXPECT_FALSE(StopSignals::isSet());
    ::raise(number);
    EXPECT_EQ(StopSignals::received(), number);
    EXPECT_TRUE(StopSignals::isSet());
  }
}

TEST(StopSignalsDeathTest, TheSecondSignalOfAKindEndsTheProcess) {
  for (const int number : {SIGINT, SIGTERM})
    EXPECT_EXIT(
        {
          const StopSignals signals;
          ::raise(number);
          ::raise(number);
        },
        testing::KilledBySignal(number), "");
}

TEST(StopSignalsDeathTest, WithoutAnObjectASignalEndsTheProcess) {
  {
    const StopSignals signals;
  }
  EXPECT_EXIT(::raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}
