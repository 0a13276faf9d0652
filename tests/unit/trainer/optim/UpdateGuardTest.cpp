// tests/unit/trainer/optim/UpdateGuardTest.cpp - which updates are bad, and
// when there are too many.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/UpdateGuard.h"

#include "trainer/settings/Config.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

using namespace tessera::trainer;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Steps 1 to `last` with losses of mean 2 and deviation 0.1.
UpdateHistory calm(const Config &config, int64_t last) {
  UpdateHistory history;
  for (int64_t step = 1; step <= last; ++step)
    EXPECT_EQ(recordAndJudge(config, history, step, step % 2 ? 1.9 : 2.1, 1),
              "");
  return history;
}

TEST(UpdateGuard, WhatIsNotFiniteIsBad) {
  const Config config;
  UpdateHistory history;
  EXPECT_EQ(recordAndJudge(config, history, 1, nan, 1),
            "the loss is not finite");
  EXPECT_EQ(recordAndJudge(config, history, 2, 1, infinity),
            "the gradient norm is not finite");
  EXPECT_EQ(recordAndJudge(config, history, 3, 1e30, 1e30), "");
  EXPECT_EQ(history.skipped, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(history.losses, (std::vector<double>{1, 1e30}));
}

TEST(UpdateGuard, SoIsWhatIsFarAboveItsMean) {
  Config config;
  config.skipScore = 5;
  UpdateHistory history = calm(config, 40);
  // 2 + 5 * 0.1 is the bound, upwards only.
  EXPECT_EQ(recordAndJudge(config, history, 41, 0.5, 1), "");
  history = calm(config, 40);
  EXPECT_EQ(recordAndJudge(config, history, 41, 2.49, 1), "");
  history = calm(config, 40);
  EXPECT_EQ(recordAndJudge(config, history, 41, 2.52, 1),
            "the loss is 5.2 standard deviations above its mean");
  // Norms that were all equal tell nothing of their spread.
  EXPECT_EQ(recordAndJudge(config, history, 42, 2, 9), "");
  // Few values tell nothing either, and 0 asks for nothing.
  history = calm(config, 31);
  EXPECT_EQ(recordAndJudge(config, history, 32, 9, 1), "");
  config.skipScore = 0;
  history = calm(config, 40);
  EXPECT_EQ(recordAndJudge(config, history, 41, 99, 1), "");
}

TEST(UpdateGuard, TheWindowMovesOn) {
  Config config;
  config.skipBudget = 2;
  UpdateHistory history = calm(config, 300);
  EXPECT_EQ(history.losses.size(), 128u);
  for (const int64_t step : {301, 302}) {
    recordAndJudge(config, history, step, nan, nan);
    EXPECT_FALSE(budgetSpent(config, history));
  }
  UpdateHistory third = history;
  recordAndJudge(config, third, 303, nan, nan);
  EXPECT_TRUE(budgetSpent(config, third));
  // 128 steps later the first of them counts no more.
  for (int64_t step = 303; step < 429; ++step)
    recordAndJudge(config, history, step, 2, 1);
  recordAndJudge(config, history, 429, nan, nan);
  EXPECT_EQ(history.skipped, (std::vector<int64_t>{302, 429}));
  EXPECT_FALSE(budgetSpent(config, history));
}

TEST(UpdateGuard, ACheckpointHoldsItExactly) {
  const Config config;
  UpdateHistory history;
  recordAndJudge(config, history, 1, 1.0 / 3, nan);
  recordAndJudge(config, history, 2, M_PI, 1e-300);
  const nlohmann::json again = nlohmann::json::parse(toJson(history).dump());
  EXPECT_EQ(historyFromJson(again), history);
  EXPECT_EQ(historyFromJson(nlohmann::json()), UpdateHistory());
}

} // namespace
