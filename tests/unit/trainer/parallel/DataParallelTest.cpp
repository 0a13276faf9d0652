// tests/unit/trainer/parallel/DataParallelTest.cpp - one process alone.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Several processes: tests/train/RanksTest.cpp.
#include "trainer/parallel/DataParallel.h"

#include <gtest/gtest.h>

using namespace tessera::trainer;

TEST(DataParallel, OneProcessNeedsNobody) {
  DataParallel parallel(World{});
  EXPECT_EQ(parallel.size(), 1);
  EXPECT_TRUE(parallel.first());
  at::Tensor values = at::arange(5, at::kFloat);
  parallel.beginAverage(values);
  parallel.finishAverages();
  parallel.fromFirst(values);
  EXPECT_TRUE(at::equal(values, at::arange(5, at::kFloat)));
  EXPECT_EQ(parallel.fromFirst("text"), "text");
  EXPECT_EQ(parallel.sum({1.5, -2}), (std::vector<double>{1.5, -2}));
  parallel.wait();
}
