// tests/unit/simulator/arith/ApproxTest.cpp - approximate instructions against
// libm.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Approx.h"

#include "tests/unit/simulator/arith/Second.h"

#include <gtest/gtest.h>

using namespace tessera::sim;
using second::Bits;

namespace {

// |bits - exact| in units of the last place of exact, in long double.
long double ulps(uint32_t bits, long double exact) {
  int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(asFloat(bits) - exact) / std::ldexp(1.0L, exponent - 23);
}

template <class F, class G>
void within(F ours, G exact, float low, float high, long double limit) {
  Bits bits(71);
  for (int i = 0; i < 40000; ++i) {
    float t = static_cast<float>(bits.below(1u << 24)) / (1u << 24);
    float x = low + (high - low) * t;
    if (i % 2)
      x = std::exp2((t - 0.5f) * 40) * (bits.below(2) ? 1.0f : -1.0f);
    if (x < low || x > high)
      continue;
    long double expected = exact(static_cast<long double>(x));
    ASSERT_LE(ulps(ours(bitsOf(x)), expected), limit) << x;
  }
}

TEST(SimApprox, WithinHalfAUnit) {
  using L = long double;
  within([](uint32_t a) { return ex2F32(a); }, [](L x) { return exp2l(x); },
         -148, 127.9f, 0.5001L);
  within([](uint32_t a) { return lg2F32(a); }, [](L x) { return log2l(x); },
         1e-38f, 3e38f, 0.5001L);
  within([](uint32_t a) { return lg2F32(a); }, [](L x) { return log2l(x); },
         0.999f, 1.001f, 0.5001L);
  within([](uint32_t a) { return rcpApproxF32(a); }, [](L x) { return 1 / x; },
         -1e30f, 1e30f, 0.5001L);
  within([](uint32_t a) { return sqrtApproxF32(a); },
         [](L x) { return sqrtl(x); }, 0, 1e30f, 0.5001L);
  within([](uint32_t a) { return rsqrtF32(a); },
         [](L x) { return 1 / sqrtl(x); }, 1e-30f, 1e30f, 0.5001L);
  within([](uint32_t a) { return sinF32(a); }, [](L x) { return sinl(x); },
         -6.2831853f, 6.2831853f, 0.5001L);
  within([](uint32_t a) { return cosF32(a); }, [](L x) { return cosl(x); },
         -6.2831853f, 6.2831853f, 0.5001L);
  within([](uint32_t a) { return tanhF32(a); }, [](L x) { return tanhl(x); },
         -20, 20, 0.5001L);
}

TEST(SimApprox, Specials) {
  uint32_t inf = bitsOf(INFINITY), minusInf = bitsOf(-INFINITY);
  uint32_t nan = CanonicalNanF32, subnormal = 1, zero = 0, minusZero = 1u << 31;
  // ex2 (PTX ISA: table of ex2.approx)
  EXPECT_EQ(ex2F32(minusInf), zero);
  EXPECT_EQ(ex2F32(inf), inf);
  EXPECT_EQ(ex2F32(nan), nan);
  EXPECT_EQ(ex2F32(zero), bitsOf(1.0f));
  EXPECT_EQ(ex2F32(minusZero), bitsOf(1.0f));
  EXPECT_EQ(ex2F32(bitsOf(-149.0f)), 1u);
  EXPECT_EQ(ex2F32<true>(bitsOf(-130.0f)), zero);
  EXPECT_EQ(ex2F32(bitsOf(128.0f)), inf);
  EXPECT_EQ(ex2F32(bitsOf(-1e30f)), zero);
  EXPECT_EQ(ex2F32(bitsOf(10.0f)), bitsOf(1024.0f));
  // lg2
  EXPECT_EQ(lg2F32(zero), minusInf);
  EXPECT_EQ(lg2F32(minusZero), minusInf);
  EXPECT_EQ(lg2F32<true>(subnormal), minusInf);
  EXPECT_EQ(lg2F32(subnormal), bitsOf(-149.0f));
  EXPECT_EQ(lg2F32(inf), inf);
  EXPECT_EQ(lg2F32(minusInf), nan);
  EXPECT_EQ(lg2F32(bitsOf(-1.0f)), nan);
  EXPECT_EQ(lg2F32(nan), nan);
  EXPECT_EQ(lg2F32(bitsOf(1.0f)), zero);
  // rcp, rsqrt, sqrt
  EXPECT_EQ(rcpApproxF32(minusZero), minusInf);
  EXPECT_EQ(rcpApproxF32(minusInf), minusZero);
  EXPECT_EQ(rcpApproxF32<true>(subnormal), inf);
  EXPECT_EQ(rsqrtF32(minusZero), minusInf);
  EXPECT_EQ(rsqrtF32(inf), zero);
  EXPECT_EQ(rsqrtF32(bitsOf(-1.0f)), nan);
  EXPECT_EQ(sqrtApproxF32(minusZero), minusZero);
  EXPECT_EQ(sqrtApproxF32(bitsOf(-4.0f)), nan);
  // sin, cos, tanh
  EXPECT_EQ(sinF32(minusZero), minusZero);
  EXPECT_EQ(sinF32(inf), nan);
  EXPECT_EQ(cosF32(zero), bitsOf(1.0f));
  EXPECT_EQ(tanhF32(minusInf), bitsOf(-1.0f));
}

TEST(SimApprox, Quotients) {
  EXPECT_EQ(divApproxF32(bitsOf(1.0f), bitsOf(3.0f)), bitsOf(1.0f / 3));
  // 2^126 < |b| < 2^128
  EXPECT_EQ(divApproxF32(bitsOf(0x1p127f), bitsOf(0x1.8p126f)), 0u);
  EXPECT_EQ(divApproxF32(bitsOf(1.0f), bitsOf(-0x1.8p126f)), 1u << 31);
  EXPECT_EQ(divApproxF32(bitsOf(INFINITY), bitsOf(0x1.8p126f)),
            CanonicalNanF32);
  EXPECT_EQ(divFullF32(bitsOf(0x1p127f), bitsOf(0x1.8p126f)),
            bitsOf(0x1p127f / 0x1.8p126f));
  EXPECT_EQ(divFullF32(bitsOf(1.0f), 0), bitsOf(INFINITY));
}

// A long double rounded to 16 bits by search.
uint16_t rounded(second::Format format, long double value) {
  return static_cast<uint16_t>(second::round(
      format, value, second::Round::Nearest, std::signbit(value)));
}

TEST(SimApprox, SixteenBits) {
  for (uint32_t i = 0; i < 65536; i += 3) {
    auto a = static_cast<uint16_t>(i);
    float f = f16ToFloat(a), b = bf16ToFloat(a);
    if (f != f) {
      ASSERT_EQ(ex2Half<Half::F16>(a), CanonicalNan16);
    } else if (std::isfinite(f) && f < 20) {
      ASSERT_EQ(ex2Half<Half::F16>(a), rounded(second::F16, exp2l(f))) << f;
      ASSERT_EQ(tanhHalf<Half::F16>(a), rounded(second::F16, tanhl(f))) << f;
    }
    if (b != b) {
      ASSERT_EQ(tanhHalf<Half::Bf16>(a), CanonicalNan16);
    } else if (std::isfinite(b) && b < 200) {
      ASSERT_EQ(ex2Half<Half::Bf16>(a), rounded(second::Bf16, exp2l(b))) << b;
      ASSERT_EQ(tanhHalf<Half::Bf16>(a), rounded(second::Bf16, tanhl(b))) << b;
    }
  }
  EXPECT_EQ(ex2Half<Half::F16>(0x7c00), 0x7c00);
  EXPECT_EQ(ex2Half<Half::Bf16>(0xff80), 0);
  EXPECT_EQ(tanhHalf<Half::F16>(0xfc00), 0xbc00);
}

TEST(SimApprox, DoubleReciprocals) {
  Bits bits(73);
  for (int i = 0; i < 10000; ++i) {
    uint64_t a = bits.number(second::F64, 1000);
    double x = asDouble(a);
    if (!(std::fabs(x) > 1e-300 && std::fabs(x) < 1e300))
      continue;
    uint64_t r = rcpApproxF64(a);
    ASSERT_EQ(static_cast<uint32_t>(r), 0u);
    ASSERT_NEAR(asDouble(r) * x, 1.0, 0x1p-19);
    if (x > 0) {
      ASSERT_NEAR(asDouble(rsqrtApproxF64(a, true)) * std::sqrt(x), 1.0,
                  0x1p-19);
    }
  }
}

} // namespace
