// tests/unit/simulator/arith/TensorCoresTest.cpp - sums by hand, from what was
// measured on A100 and H100.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/TensorCores.h"
#include "simulator/arith/Mma.h"

#include "simulator/arith/Bits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace tessera::sim {
namespace {

constexpr TensorCores Both[] = {TensorCores::A100, TensorCores::H100};

// c + products[0] * 1 + ...
float sumOf(TensorCores cores, MmaType type, float c,
            const std::vector<float> &products) {
  std::vector<float> ones(products.size(), 1);
  return truncatedSum(cores, type, products.data(), ones.data(),
                      static_cast<int>(products.size()), c);
}

float last(float value, float toward) { return std::nextafter(value, toward); }

TEST(SimTensorCores, AGroupIsAddedExactly) {
  // One after the other, each 1 would be rounded away: 2^24 + 1 is a tie.
  for (TensorCores cores : Both)
    EXPECT_EQ(sumOf(cores, MmaType::F16, 0x1p24f, {1, 1}), 0x1p24f + 2);
}

TEST(SimTensorCores, GroupsFollowOneAnother) {
  // One 1 in each half of 16 products: a group of 8 loses it.
  std::vector<float> products(16);
  products[0] = products[8] = 1;
  EXPECT_EQ(sumOf(TensorCores::A100, MmaType::Bf16, 0x1p24f, products),
            0x1p24f);
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::Bf16, 0x1p24f, products),
            0x1p24f + 2);
  // tf32: groups half as long.
  products.assign(8, 0);
  products[0] = products[4] = 1;
  EXPECT_EQ(sumOf(TensorCores::A100, MmaType::Tf32, 0x1p24f, products),
            0x1p24f);
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::Tf32, 0x1p24f, products),
            0x1p24f + 2);
}

TEST(SimTensorCores, BitsBelowTheLastPlaceAreTruncated) {
  // The last place is 1 with one bit more than fp32, 1/2 with two.
  std::vector<float> halves(4, 0.5f);
  EXPECT_EQ(sumOf(TensorCores::A100, MmaType::F16, 0x1p24f, halves), 0x1p24f);
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::F16, 0x1p24f, halves),
            0x1p24f + 2);
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::F16, 0x1p24f,
                  std::vector<float>(8, 0.25f)),
            0x1p24f);
  // Toward zero, whatever the sign, and so is the sum: 1 - 2^-25 is cut off to
  // the number below 1, 1 + 3 * 2^-24 to that above it.
  EXPECT_EQ(sumOf(TensorCores::A100, MmaType::F16, 1, {-0x1p-25f, -0x1p-25f}),
            1.0f);
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::F16, 1, {-0x1p-25f}), last(1, 0));
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::F16, 1, {0x1p-23f, 0x1p-24f}),
            last(1, 2));
  EXPECT_EQ(sumOf(TensorCores::H100, MmaType::F16, -1, {-0x1p-23f, -0x1p-24f}),
            last(-1, -2));
}

TEST(SimTensorCores, AProductOfTwoOrMoreKeepsItsExponent) {
  // 1.5 * 1.5 = 2.25 has the exponent 0 + 0: 2^-24 is in the last place.
  const float a[] = {1.5f, 0x1p-12f}, b[] = {1.5f, 0x1p-12f};
  EXPECT_EQ(truncatedSum(TensorCores::A100, MmaType::F16, a, b, 2, -1.5f),
            0.75f + 0x1p-24f);
}

// The smallest fp16 has the exponent -14, as all subnormal ones.
TEST(SimTensorCores, SubnormalFactorsKeepTheLeastExponent) {
  EXPECT_EQ(sumOf(TensorCores::A100, MmaType::F16, 0x1p-39f, {0x1p-24f}),
            0x1p-24f);
  EXPECT_EQ(sumOf(TensorCores::A100, MmaType::Bf16, 0x1p-39f, {0x1p-24f}),
            0x1p-24f + 0x1p-39f);
}

TEST(SimTensorCores, SubnormalsInfinitiesAndNaN) {
  const float tiny = 0x1p-140f, inf = std::numeric_limits<float>::infinity();
  for (TensorCores cores : Both) {
    EXPECT_EQ(sumOf(cores, MmaType::Bf16, tiny, {tiny}), 2 * tiny);
    EXPECT_EQ(sumOf(cores, MmaType::Bf16, 0, {}), 0.0f);
    EXPECT_EQ(sumOf(cores, MmaType::Bf16, -inf, {1}), -inf);
    EXPECT_TRUE(std::isnan(sumOf(cores, MmaType::Bf16, -inf, {inf})));
    EXPECT_EQ(sumOf(cores, MmaType::Bf16, 0x1.8p127f, {0x1.8p127f}), inf);
    EXPECT_EQ(sumOf(cores, MmaType::Bf16, -0x1.fffffep127f, {-1}),
              -0x1.fffffep127f);
  }
}

// Each addend of a group of n loses less than one unit in the last place, the
// sum less than one ulp of fp32.
TEST(SimTensorCores, TheErrorIsBounded) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 2000; ++round)
    for (TensorCores cores : Both) {
      float a[16], b[16];
      const float c = normal(random);
      double exact = c, top = std::fabs(c);
      for (int k = 0; k < 16; ++k) {
        a[k] = bf16ToFloat(floatToBf16(normal(random)));
        b[k] = bf16ToFloat(floatToBf16(normal(random)));
        exact += static_cast<double>(a[k]) * b[k];
        top += std::fabs(static_cast<double>(a[k]) * b[k]);
      }
      const float got = truncatedSum(cores, MmaType::Bf16, a, b, 16, c);
      EXPECT_NEAR(got, exact,
                  top * 0x1p-23 * (cores == TensorCores::A100 ? 11 : 6));
    }
}

// The mma instruction takes the mode where it was measured.
TEST(SimTensorCores, Mma) {
  const auto run = [](MmaType type, MmaType c, TensorCores cores) {
    MmaShape s{16, 8, type == MmaType::Tf32 ? 8 : 16, type, type, c, c};
    uint32_t one = type == MmaType::F16    ? 0x3c003c00
                   : type == MmaType::Bf16 ? 0x3f803f80
                                           : bitsOf(1.0f);
    uint32_t a[4][32], b[2][32], sum[4][32];
    for (int lane = 0; lane < 32; ++lane) {
      for (auto &reg : a)
        reg[lane] = one;
      for (auto &reg : b)
        reg[lane] = one;
      for (auto &reg : sum)
        reg[lane] = c == MmaType::F16 ? 0 : bitsOf(0x1p24f);
    }
    const uint32_t *pa[] = {a[0], a[1], a[2], a[3]}, *pb[] = {b[0], b[1]};
    uint32_t *pc[] = {sum[0], sum[1], sum[2], sum[3]};
    mma(s, pa, pb, pc, pc, cores);
    return sum[1][31];
  };
  for (MmaType type : {MmaType::F16, MmaType::Bf16, MmaType::Tf32}) {
    const float all = 0x1p24f + (type == MmaType::Tf32 ? 8 : 16);
    EXPECT_EQ(asFloat(run(type, MmaType::F32, TensorCores::Fused)), 0x1p24f);
    for (TensorCores cores : Both)
      EXPECT_EQ(asFloat(run(type, MmaType::F32, cores)), all);
  }
  EXPECT_EQ(run(MmaType::F16, MmaType::F16, TensorCores::A100), 0x4c004c00u);
}

} // namespace
} // namespace tessera::sim
