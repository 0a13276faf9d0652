// tests/unit/trainer/generate/DrawTokenTest.cpp - shares of tokens, cut and
// drawn.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/DrawToken.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

using namespace tessera::trainer;

namespace {

/// How often each token is drawn, of 10000 even units.
std::map<int64_t, int> counts(const std::vector<float> &logits,
                              const DrawTokenOptions &options) {
  std::map<int64_t, int> found;
  for (int i = 0; i < 10000; ++i)
    ++found[drawToken(logits, options, (i + 0.5) / 10000)];
  return found;
}

// Shares 1/2, 1/4, 1/8, 1/8 of the tokens 2, 0, 1, 3.
const std::vector<float> quarters = {std::log(2.0f), 0, std::log(4.0f), 0};

TEST(Draw, FollowsTheSoftmax) {
  auto found = counts(quarters, {.temperature = 1});
  EXPECT_NEAR(found[2], 5000, 1);
  EXPECT_NEAR(found[0], 2500, 1);
  EXPECT_NEAR(found[1], 1250, 1);
  EXPECT_NEAR(found[3], 1250, 1);
  // At half the temperature their squares: 16, 4, 1, 1 of 22.
  found = counts(quarters, {.temperature = 0.5});
  EXPECT_NEAR(found[2], 7273, 1);
  EXPECT_NEAR(found[0], 1818, 1);
}

TEST(Draw, TopKAndTopPKeepTheLikeliest) {
  auto found = counts(quarters, {.temperature = 1, .topK = 2});
  EXPECT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[2], 6667, 1);
  EXPECT_NEAR(found[0], 3333, 1);
  // Of equals the lower number.
  found = counts(quarters, {.temperature = 1, .topK = 3});
  EXPECT_TRUE(found.contains(1));
  EXPECT_FALSE(found.contains(3));
  // 1/2 + 1/4 is the first share of at least 0.7; 0.75 of it is 2/3.
  found = counts(quarters, {.temperature = 1, .topP = 0.7});
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(counts(quarters, {.temperature = 1, .topP = 0.49}).size(), 1u);
  EXPECT_EQ(counts(quarters, {.temperature = 1, .topP = 0}).size(), 1u);
  EXPECT_EQ(counts(quarters, {.temperature = 1, .topK = 9}).size(), 4u);
  found = counts(quarters, {.temperature = 1, .topK = 1, .topP = 0.9});
  EXPECT_EQ(found[2], 10000);
}

TEST(Draw, AtZeroTheLikeliest) {
  EXPECT_EQ(drawToken(quarters, {.temperature = 0}, 0.99), 2);
  EXPECT_EQ(drawToken(std::vector<float>{1, 3, 3}, {.temperature = 0}, 0.99),
            1);
}

TEST(Draw, WhatIsNotFiniteIsNotDrawn) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto found = counts({-inf, 1, NAN, inf, 1}, {.temperature = 1});
  EXPECT_EQ(found.size(), 2u);
  EXPECT_TRUE(found.contains(1) && found.contains(4));
  EXPECT_EQ(drawToken(std::vector<float>{NAN, NAN}, {}, 0.5), 0);
  EXPECT_LT(drawToken(quarters, {.temperature = 1e-300}, 0.999999), 4);
}

} // namespace
