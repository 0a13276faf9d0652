// tests/unit/simulator/arith/FloatTest.cpp - f32 and f64 against the host and
// 113 bits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Float.h"

#include "tests/unit/simulator/arith/Second.h"

#include <cfenv>
#include <functional>
#include <gtest/gtest.h>

using namespace tessera::sim;
using second::Bits;

namespace {

constexpr int HostModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                             FE_UPWARD};

// The host's own float operations in its own rounding mode.
uint32_t host(int op, int mode, bool ftz, bool sat, uint32_t a, uint32_t b,
              uint32_t c) {
  auto flush = [&](uint32_t v) {
    return ftz && std::fpclassify(asFloat(v)) == FP_SUBNORMAL ? v & 0x80000000
                                                              : v;
  };
  volatile float x = asFloat(flush(a)), y = asFloat(flush(b)),
                 z = asFloat(flush(c)), r = 0;
  std::fesetround(mode);
  switch (op) {
  case 0:
    r = x + y;
    break;
  case 1:
    r = x - y;
    break;
  case 2:
    r = x * y;
    break;
  case 3:
    r = x / y;
    break;
  case 4:
    r = std::fma(x, y, z);
    break;
  default:
    r = std::sqrt(x);
    break;
  }
  std::fesetround(FE_TONEAREST);
  float result = r;
  if (std::isnan(result))
    return sat ? 0 : 0x7fffffff;
  uint32_t bits = flush(bitsOf(result));
  if (sat)
    bits = asFloat(bits) <= 0 ? 0 : asFloat(bits) > 1 ? 0x3f800000 : bits;
  return bits;
}

template <Rounding R, bool Ftz, bool Sat>
uint32_t ours(int op, uint32_t a, uint32_t b, uint32_t c) {
  constexpr FloatMode M{R, Ftz, Sat};
  switch (op) {
  case 0:
    return addF32<M>(a, b);
  case 1:
    return subF32<M>(a, b);
  case 2:
    return mulF32<M>(a, b);
  case 3:
    return divF32<M>(a, b);
  case 4:
    return fmaF32<M>(a, b, c);
  default:
    return sqrtF32<M>(a);
  }
}

template <Rounding R, bool Ftz, bool Sat>
void compareWithHost() {
  Bits bits(17 + static_cast<int>(R));
  const char *names[] = {"add", "sub", "mul", "div", "fma", "sqrt"};
  for (int i = 0; i < 60000; ++i) {
    int spread = i % 3 == 0 ? 4 : i % 3 == 1 ? 30 : 127;
    auto a = static_cast<uint32_t>(bits.number(second::F32, spread));
    auto b = static_cast<uint32_t>(bits.number(second::F32, spread));
    auto c = static_cast<uint32_t>(bits.number(second::F32, spread));
    if (i % 16 == 0)
      c = mulF32(a, b) ^ 0x80000000; // cancellation
    if (i % 16 == 1)
      b = a ^ 0x80000000;
    for (int op = 0; op < 6; ++op) {
      uint32_t expected =
          host(op, HostModes[static_cast<int>(R)], Ftz, Sat, a, b, c);
      ASSERT_EQ((ours<R, Ftz, Sat>(op, a, b, c)), expected)
          << names[op] << std::hex << " rounding " << static_cast<int>(R)
          << " ftz " << Ftz << " sat " << Sat << ": " << a << " " << b << " "
          << c;
    }
  }
}

TEST(SimFloat, F32AgreesWithTheHostInEveryMode) {
  compareWithHost<Rounding::Nearest, false, false>();
  compareWithHost<Rounding::Nearest, true, false>();
  compareWithHost<Rounding::Nearest, true, true>();
  compareWithHost<Rounding::Zero, false, false>();
  compareWithHost<Rounding::Zero, true, false>();
  compareWithHost<Rounding::Down, false, false>();
  compareWithHost<Rounding::Down, true, true>();
  compareWithHost<Rounding::Up, false, false>();
  compareWithHost<Rounding::Up, true, false>();
}

TEST(SimFloat, Reciprocal) {
  Bits bits(3);
  for (int i = 0; i < 20000; ++i) {
    auto a = static_cast<uint32_t>(bits.number(second::F32, 126));
    constexpr FloatMode Up{Rounding::Up, false, false};
    ASSERT_EQ(rcpF32(a), host(3, FE_TONEAREST, false, false, 0x3f800000, a, 0));
    ASSERT_EQ(rcpF32<Up>(a),
              host(3, FE_UPWARD, false, false, 0x3f800000, a, 0));
  }
}

// f64: a product of doubles has 106 bits and is exact in 113; sums are when the
// exponents are close.
template <Rounding R>
void compareDouble(second::Round how) {
  Bits bits(5 + static_cast<int>(R));
  for (int i = 0; i < 4000; ++i) {
    uint64_t a = bits.number(second::F64, 20), b = bits.number(second::F64, 20);
    double x = asDouble(a), y = asDouble(b);
    if (!std::isfinite(x) || !std::isfinite(y) || x == 0 || y == 0)
      continue;
    auto wide = [&](second::Wide v) {
      return second::round(second::F64, v, how);
    };
    ASSERT_EQ(mulF64<R>(a, b), wide(second::Wide(x) * y)) << x << " " << y;
    int ex = std::ilogb(x), ey = std::ilogb(y);
    if (ex - ey < 55 && ey - ex < 55) {
      second::Wide sum = second::Wide(x) + y;
      if (sum != 0) {
        ASSERT_EQ(addF64<R>(a, b), wide(sum)) << x << " " << y;
        ASSERT_EQ(subF64<R>(a, b ^ (uint64_t{1} << 63)), wide(sum));
      }
    }
    // Quotients and roots: the remainder's sign decides; 113 bits never tie.
    if (ex - ey < 900 && ey - ex < 900) {
      second::Wide quotient = second::Wide(x) / y;
      second::Wide rest =
          second::Wide(x) - second::Wide(asDouble(divF64<R>(a, b))) * y;
      if (rest != 0) {
        ASSERT_EQ(divF64<R>(a, b), wide(quotient)) << x << " " << y;
      }
    }
    // A fused multiply-add whose addend has the product's size.
    double z =
        -x * y * (1 + std::ldexp(1.0, -static_cast<int>(bits.below(30))));
    second::Wide exact = second::Wide(x) * y + z;
    if (std::isnormal(z) && exact != 0) {
      ASSERT_EQ(fmaF64<R>(a, b, bitsOf(z)), wide(exact)) << x << " " << y;
    }
  }
}

TEST(SimFloat, F64AgreesWith113Bits) {
  compareDouble<Rounding::Nearest>(second::Round::Nearest);
  compareDouble<Rounding::Zero>(second::Round::Zero);
  compareDouble<Rounding::Down>(second::Round::Down);
  compareDouble<Rounding::Up>(second::Round::Up);
}

TEST(SimFloat, F64RootIsBracketed) {
  Bits bits(23);
  for (int i = 0; i < 4000; ++i) {
    uint64_t a = bits.number(second::F64, 1000) & ~(uint64_t{1} << 63);
    double x = asDouble(a);
    if (!std::isfinite(x) || x == 0)
      continue;
    double up = asDouble(sqrtF64<Rounding::Up>(a));
    double down = asDouble(sqrtF64<Rounding::Down>(a));
    ASSERT_GE(second::Wide(up) * up, second::Wide(x));
    ASSERT_LE(second::Wide(down) * down, second::Wide(x));
    ASSERT_TRUE(up == down || up == std::nextafter(down, INFINITY));
    ASSERT_EQ(sqrtF64<Rounding::Zero>(a), bitsOf(down));
  }
}

TEST(SimFloat, F64Specials) {
  uint64_t inf = 0x7ff0000000000000;
  EXPECT_EQ(addF64(inf, inf | (uint64_t{1} << 63)), CanonicalNanF64);
  EXPECT_EQ(mulF64<Rounding::Up>(inf, 0), CanonicalNanF64);
  EXPECT_EQ(sqrtF64(bitsOf(-1.0)), CanonicalNanF64);
  EXPECT_EQ(rcpF64(bitsOf(-0.0)), bitsOf(-INFINITY * 1.0));
}

// min and max written out from the ISA's pseudo code.
template <bool Max, MinMaxMode M>
uint32_t minMaxByTheBook(uint32_t a, uint32_t b) {
  float x = asFloat(a), y = asFloat(b);
  if (M.ftz && std::fpclassify(x) == FP_SUBNORMAL)
    x = std::copysign(0.0f, x);
  if (M.ftz && std::fpclassify(y) == FP_SUBNORMAL)
    y = std::copysign(0.0f, y);
  bool sign = std::signbit(x) != std::signbit(y);
  if (M.xorsign) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  float r;
  if (std::isnan(x) && std::isnan(y))
    return 0x7fffffff;
  if (std::isnan(x) || std::isnan(y)) {
    if (M.nan)
      return 0x7fffffff;
    r = std::isnan(x) ? y : x;
  } else if (x == 0 && y == 0) {
    bool minus = Max ? std::signbit(x) && std::signbit(y)
                     : std::signbit(x) || std::signbit(y);
    r = minus ? -0.0f : 0.0f;
  } else {
    r = (x < y) != Max ? x : y;
  }
  if (M.xorsign)
    r = std::copysign(r, sign ? -1.0f : 1.0f);
  return bitsOf(r);
}

template <MinMaxMode M>
void compareMinMax() {
  Bits bits(29);
  for (int i = 0; i < 40000; ++i) {
    auto a = static_cast<uint32_t>(bits.number(second::F32, 2));
    auto b = static_cast<uint32_t>(bits.number(second::F32, 2));
    ASSERT_EQ((minMaxF32<true, M>(a, b)), (minMaxByTheBook<true, M>(a, b)))
        << std::hex << a << " " << b;
    ASSERT_EQ((minMaxF32<false, M>(a, b)), (minMaxByTheBook<false, M>(a, b)))
        << std::hex << a << " " << b;
  }
}

TEST(SimFloat, MinMax) {
  compareMinMax<MinMaxMode{}>();
  compareMinMax<MinMaxMode{.ftz = true, .nan = false, .xorsign = false}>();
  compareMinMax<MinMaxMode{.ftz = false, .nan = true, .xorsign = false}>();
  compareMinMax<MinMaxMode{.ftz = true, .nan = true, .xorsign = true}>();
  EXPECT_EQ(minF64(bitsOf(0.0), bitsOf(-0.0)), bitsOf(-0.0));
  EXPECT_EQ(maxF64(CanonicalNanF64, bitsOf(1.0)), bitsOf(1.0));
}

TEST(SimFloat, SignsAndCopysign) {
  EXPECT_EQ(absF32<true>(0x80000001), 0u);
  EXPECT_EQ(absF32(0x80000001), 1u);
  EXPECT_EQ(negF32(0x3f800000), 0xbf800000);
  // copysign.f32 d, a, b: the sign of a, the rest of b.
  EXPECT_EQ(copysignF32(bitsOf(-2.0f), bitsOf(3.0f)), bitsOf(-3.0f));
  EXPECT_EQ(copysignF64(bitsOf(2.0), bitsOf(-3.0)), bitsOf(3.0));
}

} // namespace
