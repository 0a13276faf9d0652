// tests/unit/trainer/loop/RunControlTest.cpp - when a step counts as stalled.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/RunControl.h"

#include "tests/unit/trainer/TestFolder.h"

#include <gtest/gtest.h>

using namespace tessera::trainer;

namespace {

// Steps of 395 s were stalls to a limit of 180 s; one outlier moves no median.
TEST(RunControl, AStallIsRelativeToTheMedianStep) {
  EXPECT_EQ(stallLimit({}, 180), 180);
  EXPECT_EQ(stallLimit({1, 1, 1}, 180), 180);
  EXPECT_EQ(stallLimit({395, 380, 400}, 180), 3950);
  EXPECT_EQ(stallLimit({30, 9000, 31, 29, 30}, 180), 300);
}

TEST(RunControl, HaltIsSeenAndCleared) {
  const TestFolder folder;
  const RunControl control(folder.path.string(), 1, 0);
  EXPECT_FALSE(control.halted());
  EXPECT_FALSE(clearHalt(folder.path.string()));
  folder.write(".HALT", "");
  EXPECT_TRUE(control.halted());
  EXPECT_TRUE(clearHalt(folder.path.string()));
  EXPECT_FALSE(control.halted());
}

} // namespace
