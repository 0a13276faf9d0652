// tests/unit/trainer/optim/ScheduleTest.cpp - the learning rate of every step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/Schedule.h"

#include "trainer/settings/Config.h"
#include "trainer/settings/Plan.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::trainer;

namespace {

// Linear up to the full rate at the last step of the warm-up, then the squared
// cosine of half the angle down to the last rate one step after the end.
TEST(Schedule, EveryStepHasTheRateOfTheFormula) {
  for (const int64_t warmup : {0, 1, 4, 10}) {
    Config c;
    c.steps = 10;
    c.warmup = warmup;
    c.learningRate = 0.5;
    c.finalLearningRate = 0.1;
    const double quarter = std::atan(1.0); // of pi
    for (int64_t step = 0; step < 10; ++step) {
      double expected = 0;
      if (step + 1 <= warmup) {
        expected = 0.5 / double(warmup) * double(step + 1);
      } else {
        const double half =
            std::cos(2 * quarter * double(step - warmup) / double(10 - warmup));
        expected = 0.1 + 0.4 * half * half;
      }
      EXPECT_NEAR(learningRate(c, step), expected, 1e-12)
          << "step " << step << ", warm-up " << warmup;
    }
  }
  Config c;
  c.steps = 10;
  c.warmup = 2;
  c.learningRate = 1;
  EXPECT_EQ(learningRate(c, 0), 0.5);
  EXPECT_EQ(learningRate(c, 1), 1);
  EXPECT_EQ(learningRate(c, 2), 1);
  EXPECT_NEAR(learningRate(c, 6), 0.5, 1e-12);
  EXPECT_NEAR(learningRate(c, 10), 0, 1e-12);
  EXPECT_NEAR(learningRate(c, 1000), 0, 1e-12);
}

TEST(Schedule, WarmsUpThenFollowsACosine) {
  Config c;
  c.learningRate = 2;
  c.finalLearningRate = 1;
  c.warmup = 4;
  c.steps = 12;
  EXPECT_DOUBLE_EQ(learningRate(c, 0), 0.5);
  EXPECT_DOUBLE_EQ(learningRate(c, 3), 2);
  EXPECT_DOUBLE_EQ(learningRate(c, 4), 2);
  EXPECT_DOUBLE_EQ(learningRate(c, 8), 1.5);
  EXPECT_NEAR(learningRate(c, 6), 1.85355339, 1e-8);
  EXPECT_DOUBLE_EQ(learningRate(c, 12), 1);
  EXPECT_DOUBLE_EQ(learningRate(c, 99), 1);
}

TEST(Schedule, DoesNotDependOnAccumulation) {
  Config c;
  const double before = learningRate(c, 300);
  c.accumulate = 8;
  EXPECT_EQ(learningRate(c, 300), before);
}

TEST(Schedule, AWarmUpLongerThanTheRunIsReported) {
  Config c;
  c.steps = 40;
  c.warmup = 40;
  EXPECT_EQ(scheduleWarning(c), "");
  c.warmup = 50;
  const std::string text = scheduleWarning(c);
  for (const char *part : {"train.warmup_steps is 50", "train.steps 40",
                           "80% of train.lr", "train.warmup_steps=4 "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(planText(c, planOf(c)).find(text), std::string::npos);
  EXPECT_DOUBLE_EQ(learningRate(c, 39), 0.8 * c.learningRate);
}

// The values by hand: 10 steps, none of warm-up.
TEST(Schedule, TheOtherWaysDown) {
  Config c;
  c.steps = 10;
  c.learningRate = 1;
  c.finalLearningRate = 0.2;
  c.schedule = LearningRateSchedule::Linear;
  EXPECT_DOUBLE_EQ(learningRate(c, 0), 1);
  EXPECT_DOUBLE_EQ(learningRate(c, 5), 0.6);
  EXPECT_DOUBLE_EQ(learningRate(c, 10), 0.2);
  c.schedule = LearningRateSchedule::Constant;
  EXPECT_DOUBLE_EQ(learningRate(c, 9), 1);
  c.schedule = LearningRateSchedule::WarmupStableDecay;
  c.decayShare = 0.4;
  EXPECT_DOUBLE_EQ(learningRate(c, 6), 1);
  EXPECT_DOUBLE_EQ(learningRate(c, 7), 0.2 + 0.8 * (1 - std::sqrt(0.25)));
  EXPECT_DOUBLE_EQ(learningRate(c, 10), 0.2);
  c.decayShare = 0;
  EXPECT_DOUBLE_EQ(learningRate(c, 9), 1);
  c.warmup = 4;
  EXPECT_DOUBLE_EQ(learningRate(c, 0), 0.25);
}

// By hand: a line from 1 to 0 over 4 steps has 0.25 in the fourth; over 10,
// 0.6 in the fifth.
TEST(Schedule, AnotherLengthReportsTheRatesAroundIt) {
  Config c;
  c.learningRate = 1;
  c.schedule = LearningRateSchedule::Linear;
  c.steps = 4;
  Config longer = c;
  longer.steps = 10;
  EXPECT_EQ(otherLengthLine(c, longer, 4),
            "train.steps 4 -> 10: the learning rate of each step from here on "
            "is that of a run of 10 steps: 0.6 in step 5, after 0.25 in step "
            "4");
}

} // namespace
