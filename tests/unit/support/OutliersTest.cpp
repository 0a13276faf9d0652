// tests/unit/support/OutliersTest.cpp - tests of support/Outliers.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/helpers/TensorError.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace tessera;

namespace {

TensorError errorOf(const std::vector<double> &got,
                    const std::vector<double> &want, int64_t row, double limit,
                    double floor = 0) {
  return tensorError(
      int64_t(want.size()), row, [&](int64_t i) { return got[size_t(i)]; },
      [&](int64_t i) { return want[size_t(i)]; }, limit, floor);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST(Outliers, TheBoundFollowsTheTensorAndTheElement) {
  // 6 * 0.01 * (1 + 2)
  EXPECT_FALSE(isOutlier(2.17, 2, 1, 0.01));
  EXPECT_FALSE(isOutlier(-1.83, -2, 1, 0.01));
  EXPECT_TRUE(isOutlier(2.19, 2, 1, 0.01));
  EXPECT_TRUE(isOutlier(1.81, 2, 1, 0.01));
  EXPECT_TRUE(isOutlier(-1.81, -2, 1, 0.01));
}

TEST(Outliers, WhatIsNotFiniteMustBeTheSame) {
  for (double value : {infinity, -infinity, notANumber}) {
    EXPECT_FALSE(isOutlier(value, value, 1, 1));
    EXPECT_TRUE(isOutlier(value, 1, 1, 1));
    EXPECT_TRUE(isOutlier(1, value, 1, 1));
  }
  EXPECT_TRUE(isOutlier(infinity, -infinity, 1, 1));
  EXPECT_TRUE(isOutlier(notANumber, infinity, 1, 1));
  EXPECT_TRUE(isOutlier(infinity, notANumber, 1, 1));
}

TEST(Outliers, OneOfManyIsFoundWhereTheRmsHidesIt) {
  std::vector<double> want(40000, 1), got = want;
  EXPECT_TRUE(errorOf(got, want, 200, 5e-3).ok(5e-3));
  got[777] = 0.1;
  got[900] = 0.9;
  const TensorError error = errorOf(got, want, 200, 5e-3);
  EXPECT_LT(error.rms, 5e-3);
  EXPECT_EQ(error.first, 777);
  EXPECT_EQ(error.outliers, 2);
  EXPECT_FALSE(error.ok(5e-3));
}

// A sum of large numbers that cancel has their rounding errors.
TEST(Outliers, AnElementOfALargeRowMayBeOffByMore) {
  std::vector<double> want(1000, 0.01);
  for (size_t i = 0; i < 10; ++i)
    want[i] = 100;
  want[5] = 0;
  std::vector<double> got = want;
  got[5] = 1;
  EXPECT_TRUE(errorOf(got, want, 10, 5e-3).ok(5e-3));
  std::swap(want[5], want[505]);
  std::swap(got[5], got[505]);
  EXPECT_EQ(errorOf(got, want, 10, 5e-3).first, 505);
}

TEST(Outliers, OfZeroAndOfTheFloor) {
  EXPECT_TRUE(errorOf({}, {}, 3, 1e-5).ok(1e-5));
  EXPECT_TRUE(errorOf({1e-6, 0}, {0, 0}, 2, 1e-5).ok(1e-5));
  EXPECT_FALSE(errorOf({1e-4, 0}, {0, 0}, 2, 1e-5).ok(1e-5));
  // 6 * 1e-5 * 0.01
  EXPECT_TRUE(errorOf({3e-7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                      std::vector<double>(16), 4, 1e-5, 1e-2)
                  .ok(1e-5));
  EXPECT_EQ(errorOf({7e-7, 0}, {0, 0}, 2, 1e-5, 1e-2).first, 0);
}
