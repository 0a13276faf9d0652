// tests/unit/support/ProgressTest.cpp - tests of support/Progress.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Progress.h"

#include <gtest/gtest.h>

#include <vector>

using namespace tessera;

// The eighths of seconds at which it speaks, asked eight times a second.
static std::vector<int> spoken(bool terminal, int eighths) {
  ProgressSchedule schedule(terminal, 2);
  std::vector<int> times;
  for (int t = 0; t < eighths; ++t)
    if (schedule.due(t / 8.0))
      times.push_back(t);
  return times;
}

TEST(Progress, LinesThatStayAreFew) {
  EXPECT_TRUE(spoken(false, 16).empty());
  EXPECT_EQ(spoken(false, 2400),
            (std::vector<int>{16, 32, 64, 128, 256, 512, 992, 1472, 1952}));
}

TEST(Progress, ATerminalIsKeptFresh) {
  EXPECT_TRUE(spoken(true, 16).empty());
  EXPECT_EQ(spoken(true, 23), (std::vector<int>{16, 18, 20, 22}));
}

// Asked for again only after a long step, it speaks once.
TEST(Progress, WhatWasMissedIsNotMadeUp) {
  ProgressSchedule schedule(false, 2);
  EXPECT_TRUE(schedule.due(30));
  EXPECT_FALSE(schedule.due(31));
  EXPECT_TRUE(schedule.due(60));
}

TEST(Progress, SpeaksWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress impatient(std::chrono::milliseconds(0)), patient;
    EXPECT_TRUE(impatient.due());
    EXPECT_FALSE(impatient.due());
    EXPECT_FALSE(patient.due());
    impatient.show("compiling `k` ... 0 s");
    EXPECT_EQ(impatient.timeLeft(0, 10), "");
    EXPECT_EQ(impatient.timeLeft(10, 10), "");
    EXPECT_EQ(impatient.timeLeft(5, 10), ", about 1 s left");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("compiling `k` ... 0 s\n"), std::string::npos) << said;
  EXPECT_EQ(said.find('\r'), std::string::npos) << said;
}
