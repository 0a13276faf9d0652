// tests/unit/simulator/arith/HalfTest.cpp - f16 and bf16 against 113 bits and
// F16C.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Half.h"

#include "tests/unit/simulator/arith/Second.h"

#include <gtest/gtest.h>
#include <immintrin.h>

using namespace tessera::sim;
using second::Bits;
using second::Wide;

namespace {

template <Half H>
constexpr second::Format formatOf() {
  return H == Half::F16 ? second::F16 : second::Bf16;
}

// Independent of f16ToFloat: by the definition of the format.
template <Half H>
double value(uint16_t bits) {
  constexpr second::Format F = formatOf<H>();
  uint64_t size = bits & 0x7fff;
  double result = size > second::infinityBits(F) ? NAN
                  : size == second::infinityBits(F)
                      ? INFINITY
                      : static_cast<double>(second::magnitude(F, size));
  return bits & 0x8000 ? -result : result;
}

template <Half H>
uint16_t rounded(Wide exact, bool negativeZero) {
  return static_cast<uint16_t>(second::round(
      formatOf<H>(), exact, second::Round::Nearest, negativeZero));
}

TEST(SimHalf, WideningAndNarrowingOfEveryPattern) {
  for (uint32_t i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint16_t>(i);
    double f16 = value<Half::F16>(bits), bf16 = value<Half::Bf16>(bits);
    if (f16 == f16) {
      ASSERT_EQ(bitsOf(f16ToFloat(bits)), bitsOf(static_cast<float>(f16))) << i;
      ASSERT_EQ(floatToF16(static_cast<float>(f16)), bits);
    } else {
      ASSERT_TRUE(std::isnan(f16ToFloat(bits)));
    }
    if (bf16 == bf16) {
      ASSERT_EQ(bitsOf(bf16ToFloat(bits)), bitsOf(static_cast<float>(bf16)))
          << i;
      ASSERT_EQ(floatToBf16(static_cast<float>(bf16)), bits);
    } else {
      ASSERT_TRUE(std::isnan(bf16ToFloat(bits)));
    }
  }
}

TEST(SimHalf, NarrowingAgreesWithF16cAndWithSearch) {
  Bits bits(7);
  for (int i = 0; i < 400000; ++i) {
    auto a = static_cast<uint32_t>(i % 2 ? bits.any()
                                         : bits.number(second::F32, 27));
    if (i % 5 == 0)
      a = (a & 0xffffe000) | 0x1000; // a tie in f16
    if (i % 5 == 1)
      a = (a & 0xffff0000) | 0x8000; // a tie in bf16
    float x = asFloat(a);
    if (x != x) {
      ASSERT_EQ(floatToF16(x), CanonicalNan16);
      ASSERT_EQ(floatToBf16(x), CanonicalNan16);
      continue;
    }
    ASSERT_EQ(floatToF16(x), _cvtss_sh(x, 0)) << std::hex << a;
    if (i % 8 == 0 && std::isfinite(x)) {
      ASSERT_EQ(floatToBf16(x), rounded<Half::Bf16>(x, std::signbit(x)))
          << std::hex << a;
    }
  }
}

// Exact in 113 bits: any f16; bf16 with exponents within 25 of each other.
template <Half H>
void compareArithmetic() {
  Bits bits(11);
  int spread = H == Half::F16 ? 15 : 12;
  for (int i = 0; i < 60000; ++i) {
    auto a = static_cast<uint16_t>(bits.number(formatOf<H>(), spread));
    auto b = static_cast<uint16_t>(bits.number(formatOf<H>(), spread));
    auto c = static_cast<uint16_t>(bits.number(formatOf<H>(), spread));
    double x = value<H>(a), y = value<H>(b), z = value<H>(c);
    double probe = x * y + z;
    if (!std::isfinite(x + y) || !std::isfinite(probe)) {
      // Infinities and NaN are as in double.
      auto special = [](double r) -> uint16_t {
        return r != r
                   ? 0x7fff
                   : (H == Half::F16 ? 0x7c00 : 0x7f80) | (r < 0 ? 0x8000 : 0);
      };
      if (!std::isfinite(probe)) {
        ASSERT_EQ((fmaHalf<H>(a, b, c)), special(probe)) << x << y << z;
      }
      if (!std::isfinite(x + y)) {
        ASSERT_EQ((addHalf<H>(a, b)), special(x + y)) << x << y;
      }
      continue;
    }
    bool far =
        H == Half::Bf16 &&
        (std::fabs(x) > 1e6 || std::fabs(y) > 1e6 || std::fabs(z) > 1e6 ||
         (x != 0 && std::fabs(x) < 1e-6) || (y != 0 && std::fabs(y) < 1e-6) ||
         (z != 0 && std::fabs(z) < 1e-6));
    bool signXy = std::signbit(x) != std::signbit(y);
    ASSERT_EQ((mulHalf<H>(a, b)), (rounded<H>(Wide(x) * y, signXy)))
        << x << " * " << y;
    if (far)
      continue;
    ASSERT_EQ((addHalf<H>(a, b)),
              (rounded<H>(Wide(x) + y, std::signbit(x) && std::signbit(y))))
        << x << " + " << y;
    ASSERT_EQ((subHalf<H>(a, b)),
              (rounded<H>(Wide(x) - y, std::signbit(x) && !std::signbit(y))))
        << x << " - " << y;
    ASSERT_EQ((fmaHalf<H>(a, b, c)),
              (rounded<H>(Wide(x) * y + z, signXy && std::signbit(z))))
        << x << " * " << y << " + " << z;
  }
}

TEST(SimHalf, F16Arithmetic) { compareArithmetic<Half::F16>(); }
TEST(SimHalf, Bf16Arithmetic) { compareArithmetic<Half::Bf16>(); }

TEST(SimHalf, Bf16FmaRoundsOnceAcrossTheFullRange) {
  // 1 + 2^-8 is a tie; an addend far below decides it.
  uint16_t one = 0x3f80, tiny = 0x0001;
  EXPECT_EQ((fmaHalf<Half::Bf16>(0x3f81, 0x3f80, tiny)), 0x3f81);
  // (1 + 2^-7)(1 + 2^-1) = 1.51171875, half way between 0x3fc1 and 0x3fc2.
  EXPECT_EQ((fmaHalf<Half::Bf16>(0x3f81, 0x3fc0, 0)), 0x3fc2);
  EXPECT_EQ((fmaHalf<Half::Bf16>(0x3f81, 0x3fc0, 0x8001)), 0x3fc1);
  EXPECT_EQ((fmaHalf<Half::Bf16>(one, tiny, tiny)), 0x0002);
}

TEST(SimHalf, Modifiers) {
  constexpr HalfMode Ftz{.ftz = true, .sat = false, .relu = false};
  constexpr HalfMode Sat{.ftz = false, .sat = true, .relu = false};
  constexpr HalfMode Relu{.ftz = false, .sat = false, .relu = true};
  EXPECT_EQ((addHalf<Half::F16, Ftz>(0x0001, 0x8002)), 0x0000);
  EXPECT_EQ((addHalf<Half::F16>(0x0001, 0x8002)), 0x8001);
  EXPECT_EQ((addHalf<Half::F16, Sat>(0x3c00, 0x3c00)), 0x3c00);
  EXPECT_EQ((addHalf<Half::F16, Sat>(0xbc00, 0x0000)), 0x0000);
  EXPECT_EQ((addHalf<Half::F16, Sat>(0x7e00, 0x0000)), 0x0000);
  EXPECT_EQ((fmaHalf<Half::Bf16, Relu>(0xbf80, 0x3f80, 0)), 0x0000);
  EXPECT_EQ((fmaHalf<Half::Bf16, Relu>(0x7fc0, 0x3f80, 0)), 0x7fff);
}

template <Half H>
void compareMinMax() {
  Bits bits(31);
  for (int i = 0; i < 50000; ++i) {
    auto a = static_cast<uint16_t>(bits.number(formatOf<H>(), 2));
    auto b = static_cast<uint16_t>(bits.number(formatOf<H>(), 2));
    double x = value<H>(a), y = value<H>(b);
    uint16_t high, low;
    if (x != x || y != y) {
      high = low = x != x ? (y != y ? 0x7fff : b) : a;
      constexpr MinMaxMode Nan{.ftz = false, .nan = true, .xorsign = false};
      ASSERT_EQ((maxHalf<H, Nan>(a, b)), 0x7fff);
    } else if (x == y) { // also the two zeros
      high = std::signbit(x) ? b : a;
      low = std::signbit(x) ? a : b;
    } else {
      high = x > y ? a : b;
      low = x > y ? b : a;
    }
    ASSERT_EQ((maxHalf<H>(a, b)), high) << std::hex << a << " " << b;
    ASSERT_EQ((minHalf<H>(a, b)), low) << std::hex << a << " " << b;
  }
}

TEST(SimHalf, MinMax) {
  compareMinMax<Half::F16>();
  compareMinMax<Half::Bf16>();
}

TEST(SimHalf, PackedAppliesToBothHalves) {
  auto add = [](uint16_t x, uint16_t y) { return addHalf<Half::F16>(x, y); };
  // (1, -2) + (2, 5) = (3, 3)
  EXPECT_EQ(packed(0xc0003c00u, 0x45004000u, add), 0x42004200u);
  EXPECT_EQ(packed(0xc0003c00u, [](uint16_t x) { return negHalf(x); }),
            0x4000bc00u);
}

} // namespace
