// tests/unit/trainer/optim/LossScaleTest.cpp - the factor after good and bad
// steps.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/LossScale.h"

#include "trainer/settings/Config.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

using namespace tessera::trainer;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

Config half() {
  Config c;
  c.precision = Precision::Fp16;
  return c;
}

TEST(LossScale, HalvesAtAnOverflowAndDoublesAfterAGoodWhile) {
  const Config c = half();
  LossScale scale = firstScale(c);
  EXPECT_EQ(scale.factor, 65536);
  for (const double norm : {inf, nan})
    EXPECT_TRUE(adaptLossScale(c, scale, 2.5, norm));
  EXPECT_EQ(scale.factor, 16384);
  EXPECT_EQ(scale.overflows, 2);
  for (int i = 0; i < 1999; ++i)
    ASSERT_FALSE(adaptLossScale(c, scale, 2.5, 1));
  EXPECT_EQ(scale.factor, 16384);
  // An overflow in between begins the count anew.
  EXPECT_TRUE(adaptLossScale(c, scale, 2.5, inf));
  for (int i = 0; i < 1999; ++i)
    ASSERT_FALSE(adaptLossScale(c, scale, 2.5, 1));
  EXPECT_EQ(scale.factor, 8192);
  EXPECT_FALSE(adaptLossScale(c, scale, 2.5, 1));
  EXPECT_EQ(scale.factor, 16384);
}

// The guard judges these: a smaller factor does not help.
TEST(LossScale, IsNoExcuseForALossThatIsNotFinite) {
  const Config c = half();
  LossScale scale = firstScale(c);
  EXPECT_FALSE(adaptLossScale(c, scale, nan, nan));
  EXPECT_EQ(scale, firstScale(c));
  for (int i = 0; i < 16; ++i)
    EXPECT_TRUE(adaptLossScale(c, scale, 2.5, inf));
  EXPECT_EQ(scale.factor, 1);
  EXPECT_FALSE(adaptLossScale(c, scale, 2.5, inf));
  EXPECT_EQ(scale.overflows, 16);
}

TEST(LossScale, StaysBetweenOneAndItsBound) {
  Config c = half();
  c.lossScale = largestScale;
  LossScale scale = firstScale(c);
  for (int i = 0; i < 2 * scaleGrowthSteps; ++i)
    adaptLossScale(c, scale, 1, 1);
  EXPECT_EQ(scale.factor, largestScale);
  c.lossScale = 1.5;
  scale = firstScale(c);
  EXPECT_TRUE(adaptLossScale(c, scale, 1, inf));
  EXPECT_EQ(scale.factor, 1);
}

TEST(LossScale, IsOneInOtherPrecisions) {
  Config c;
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    c.precision = precision;
    LossScale scale = firstScale(c);
    EXPECT_FALSE(adaptLossScale(c, scale, 1, inf));
    EXPECT_EQ(scale, LossScale());
    EXPECT_EQ(scaleFromJson(c, {{"factor", 512.0}}), LossScale());
  }
}

TEST(LossScale, ComesBackFromACheckpoint) {
  const Config c = half();
  LossScale scale = firstScale(c);
  adaptLossScale(c, scale, 1, inf);
  adaptLossScale(c, scale, 1, 1);
  EXPECT_EQ(scaleFromJson(c, toJson(scale)), scale);
  EXPECT_EQ(scaleFromJson(c, nlohmann::json()), firstScale(c));
  EXPECT_EQ(scaleFromJson(c, {{"factor", 0.0}}).factor, 1);
  EXPECT_EQ(scaleFromJson(c, {{"factor", 1e300}}).factor, largestScale);
}

} // namespace
