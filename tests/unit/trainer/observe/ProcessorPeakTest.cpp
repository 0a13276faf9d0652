// tests/unit/trainer/observe/ProcessorPeakTest.cpp - MFU against what a busy
// machine measures.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/ProcessorPeak.h"

#include <gtest/gtest.h>
#include <vector>

using tessera::trainer::Utilization;

namespace {

/// A measurement that gives these rates one after the other.
struct Rates {
  std::vector<double> rates;
  size_t next = 0;
  double operator()() { return rates.at(next++); }
};

TEST(Utilization, IsTheShareOfThePeak) {
  Utilization utilization(Rates{{200}});
  EXPECT_DOUBLE_EQ(utilization.of(50), 0.25);
  EXPECT_DOUBLE_EQ(utilization.of(200), 1);
}

TEST(Utilization, StepsFasterThanThePeakHaveItMeasuredAgain) {
  Utilization utilization(Rates{{20, 100}});
  EXPECT_DOUBLE_EQ(utilization.of(25), 0.25);
  EXPECT_DOUBLE_EQ(utilization.of(20), 0.2);
}

TEST(Utilization, WithoutAPeakAboveTheStepsThereIsNoFigure) {
  Utilization slower(Rates{{20, 10, 22}});
  EXPECT_EQ(slower.of(25), 0);
  EXPECT_EQ(slower.of(25), 0);
  EXPECT_DOUBLE_EQ(slower.of(11), 0.5);
}

TEST(Utilization, AnUnknownPeakIsNotMeasuredAgain) {
  Utilization unknown(Rates{{0}});
  EXPECT_EQ(unknown.of(25), 0);
}

} // namespace
