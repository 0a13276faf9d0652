// tests/unit/simulator/arith/ConvertTest.cpp - cvt of every pair against 113
// bits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Convert.h"

#include "tests/unit/simulator/arith/Second.h"

#include <gtest/gtest.h>

using namespace tessera::sim;
using second::Bits;
using second::Wide;

namespace {

constexpr Type Integers[] = {Type::U8, Type::U16, Type::U32, Type::U64,
                             Type::S8, Type::S16, Type::S32, Type::S64};
constexpr Type Floats[] = {Type::F16, Type::Bf16, Type::F32, Type::F64};
constexpr second::Round Hows[] = {second::Round::Nearest, second::Round::Zero,
                                  second::Round::Down, second::Round::Up};

second::Format formatOf(Type t) {
  return t == Type::F16    ? second::F16
         : t == Type::Bf16 ? second::Bf16
         : t == Type::F32  ? second::F32
                           : second::F64;
}

// A float's bits by the definition of the format.
double value(Type type, uint64_t bits) {
  second::Format f = formatOf(type);
  uint64_t top = uint64_t{1} << (f.significand + f.exponent);
  uint64_t size = bits & (top - 1);
  double result = size > second::infinityBits(f) ? NAN
                  : size == second::infinityBits(f)
                      ? INFINITY
                      : static_cast<double>(second::magnitude(f, size));
  return bits & top ? -result : result;
}

__int128 least(Type t) {
  return isSigned(t) ? -(__int128{1} << (bitWidth(t) - 1)) : 0;
}
__int128 most(Type t) {
  return (__int128{1} << (bitWidth(t) - (isSigned(t) ? 1 : 0))) - 1;
}

// Interprets random bits as an integer of a type, exactly.
__int128 integer(Type type, uint64_t bits) {
  __int128 size = bits;
  if (bitWidth(type) < 64)
    size &= (__int128{1} << bitWidth(type)) - 1;
  if (isSigned(type) && size > most(type))
    size -= __int128{1} << bitWidth(type);
  return size;
}

uint64_t random(Bits &bits, Type type) {
  uint64_t raw = bits.any() >> bits.below(64);
  if (bits.below(4) == 0)
    raw = ~raw;
  if (bits.below(4) == 0) // near a power of two: ties of narrower formats
    raw = (uint64_t{1} << bits.below(64)) + bits.below(5) - 2;
  return raw;
}

TEST(SimConvert, IntegerToFloat) {
  Bits bits(1);
  for (Type from : Integers)
    for (Type to : Floats)
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 300; ++i) {
          uint64_t raw = random(bits, from);
          __int128 number = integer(from, raw);
          uint64_t got =
              convert(to, from, {.rounding = static_cast<Rounding>(r)}, raw);
          ASSERT_EQ(got, second::round(formatOf(to), Wide(number), Hows[r]))
              << static_cast<int>(from) << " -> " << static_cast<int>(to)
              << " rounding " << r << " of " << std::hex << raw;
          if (to == Type::F32 && r == 0) {
            auto word = static_cast<uint32_t>(raw);
            if (from == Type::S32) {
              ASSERT_EQ(s32ToF32(word), got);
            }
            if (from == Type::U32) {
              ASSERT_EQ(u32ToF32(word), got);
            }
          }
        }
}

// Integers from the exact value: rounds its floor by the distance to it.
__int128 whole(double x, second::Round how) {
  double low = std::floor(x);
  auto floored = static_cast<__int128>(low);
  Wide part = Wide(x) - low;
  switch (how) {
  case second::Round::Nearest:
    return floored + (part > Wide(0.5) || (part == Wide(0.5) && (floored & 1)));
  case second::Round::Zero:
    return floored + (x < 0 && part != 0);
  case second::Round::Down:
    return floored;
  default:
    return floored + (part != 0);
  }
}

TEST(SimConvert, FloatToInteger) {
  Bits bits(2);
  for (Type from : Floats)
    for (Type to : Integers)
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 600; ++i) {
          int spread = i % 2 ? bitWidth(to) + 2 : 3;
          uint64_t raw = bits.number(formatOf(from), spread);
          double x = value(from, raw);
          __int128 expected;
          if (x != x)
            expected = from == Type::F64 || bitWidth(to) == 64
                           ? (isSigned(to) ? least(to)
                                           : __int128{1} << (bitWidth(to) - 1))
                           : 0;
          else if (std::fabs(x) > 0x1p70)
            expected = x < 0 ? least(to) : most(to);
          else
            expected = std::clamp(whole(x, Hows[r]), least(to), most(to));
          ConvertMode mode{.rounding = static_cast<Rounding>(r),
                           .integral = true};
          ASSERT_EQ(convert(to, from, mode, raw),
                    static_cast<uint64_t>(expected))
              << x << " to " << static_cast<int>(to) << " rounding " << r;
          if (from == Type::F32 && to == Type::S32 && r == 1) {
            ASSERT_EQ(f32ToS32(static_cast<uint32_t>(raw)),
                      static_cast<uint32_t>(expected));
          }
        }
}

TEST(SimConvert, FloatToFloat) {
  Bits bits(3);
  for (Type from : Floats)
    for (Type to : Floats)
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 1500; ++i) {
          int spread = i % 3 == 0 ? 3 : i % 3 == 1 ? 30 : 160;
          uint64_t raw = bits.number(formatOf(from), spread);
          double x = value(from, raw);
          second::Format f = formatOf(to);
          uint64_t sign = uint64_t{std::signbit(x)}
                          << (f.significand + f.exponent);
          uint64_t expected;
          if (x != x)
            expected = to == Type::F32   ? 0x7fffffff
                       : to == Type::F64 ? CanonicalNanF64
                                         : 0x7fff;
          else if (std::isinf(x))
            expected = sign | second::infinityBits(f);
          else
            expected = second::round(f, x, Hows[r], std::signbit(x));
          ConvertMode mode{.rounding = static_cast<Rounding>(r)};
          ASSERT_EQ(convert(to, from, mode, raw), expected)
              << x << " " << static_cast<int>(from) << " -> "
              << static_cast<int>(to) << " rounding " << r;
        }
}

TEST(SimConvert, IntegersBetweenFloatsOfOneSize) {
  Bits bits(4);
  for (Type type : {Type::F16, Type::F32, Type::F64})
    for (int r = 0; r < 4; ++r)
      for (int i = 0; i < 2000; ++i) {
        uint64_t raw = bits.number(formatOf(type), 10);
        double x = value(type, raw);
        if (!std::isfinite(x) || std::fabs(x) > 0x1p100)
          continue;
        __int128 number = whole(x, Hows[r]);
        ConvertMode mode{.rounding = static_cast<Rounding>(r),
                         .integral = true};
        ASSERT_EQ(convert(type, type, mode, raw),
                  second::round(formatOf(type), Wide(number),
                                second::Round::Nearest, std::signbit(x)))
            << x << " rounding " << r;
      }
}

TEST(SimConvert, IntegerToInteger) {
  Bits bits(5);
  for (Type from : Integers)
    for (Type to : Integers)
      for (int i = 0; i < 300; ++i) {
        uint64_t raw = random(bits, from);
        __int128 number = integer(from, raw);
        ASSERT_EQ(
            convert(to, from, {}, raw),
            static_cast<uint64_t>(integer(to, static_cast<uint64_t>(number))));
        ASSERT_EQ(
            convert(to, from, {.sat = true}, raw),
            static_cast<uint64_t>(std::clamp(number, least(to), most(to))));
      }
}

TEST(SimConvert, FlushSaturateRelu) {
  EXPECT_EQ(convert(Type::F32, Type::F32, {.ftz = true}, 0x80000001),
            0x80000000);
  EXPECT_EQ(convert(Type::F64, Type::F32, {.ftz = true}, 0x00000001), 0u);
  EXPECT_EQ(convert(Type::F32, Type::F64, {.ftz = true}, bitsOf(0x1p-130)), 0u);
  EXPECT_EQ(convert(Type::F32, Type::S32, {.sat = true}, 5), 0x3f800000);
  EXPECT_EQ(convert(Type::F16, Type::F32, {.sat = true}, bitsOf(-3.0f)), 0u);
  EXPECT_EQ(convert(Type::F32, Type::F32, {.sat = true}, 0x7fc00000), 0u);
  EXPECT_EQ(convert(Type::Bf16, Type::F32, {.relu = true}, bitsOf(-3.0f)), 0u);
  EXPECT_EQ(convert(Type::Bf16, Type::F32, {.relu = true}, 0xffc00000),
            0x7fffu);
  EXPECT_EQ(convert(Type::F16, Type::F32, {.satfinite = true}, bitsOf(-1e9f)),
            0xfbffu);
}

TEST(SimConvert, Tf32) {
  Bits bits(6);
  for (int i = 0; i < 20000; ++i) {
    auto a = static_cast<uint32_t>(bits.number(second::F32, 126));
    if (i % 3 == 0)
      a = (a & 0xffffe000) | 0x1000;
    float x = asFloat(a);
    uint32_t expected =
        x != x ? 0x7fffffff
        : std::isinf(x)
            ? a
            : static_cast<uint32_t>(second::round(second::Tf32, x,
                                                  second::Round::Away,
                                                  std::signbit(x))
                                    << 13);
    ASSERT_EQ(f32ToTf32(a), expected) << std::hex << a;
    ConvertMode away{.rounding = Rounding::NearestAway};
    ASSERT_EQ(convert(Type::Tf32, Type::F32, away, a), expected);
  }
}

TEST(SimConvert, PackedPairs) {
  EXPECT_EQ(packF32<Half::F16>(bitsOf(1.0f), bitsOf(-2.0f)), 0x3c00c000u);
  EXPECT_EQ(packF32<Half::Bf16>(bitsOf(1.0f), bitsOf(-2.0f)), 0x3f80c000u);
  EXPECT_EQ((packF32<Half::Bf16, true>(bitsOf(1.0f), bitsOf(-2.0f))),
            0x3f800000u);
  // cvt.pack.sat.u8.s32.b32: {300, -1} below c.
  EXPECT_EQ(convertPack(Type::U8, 300, ~0u, 0xabcd), 0xabcdff00u);
  EXPECT_EQ(convertPack(Type::S16, 70000, static_cast<uint32_t>(-70000), 0),
            0x7fff8000u);
}

// Every 8-bit pattern is read off the definition, then every number between two
// patterns must round to the nearer one, ties to the even pattern.
TEST(SimConvert, Float8) {
  for (Float8 format : {Float8::E4m3, Float8::E5m2}) {
    bool e4m3 = format == Float8::E4m3;
    int most = e4m3 ? 0x7e : 0x7b;
    double previous = 0;
    for (int i = 0; i <= most; ++i) {
      int significand = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
      int field = i >> significand, fraction = i & ((1 << significand) - 1);
      double size = field
                        ? std::ldexp(1.0 + fraction / double(1 << significand),
                                     field - bias)
                        : std::ldexp(double(fraction), 1 - bias - significand);
      auto bits = static_cast<uint8_t>(i);
      ASSERT_EQ(float8ToFloat(format, bits), size) << i;
      ASSERT_EQ(float8ToFloat(format, bits | 0x80), -size) << i;
      ASSERT_EQ(floatToFloat8(format, -size, false), bits | 0x80) << i;
      if (i > 0) {
        double middle = (previous + size) / 2;
        auto low = static_cast<uint8_t>(i - 1);
        ASSERT_EQ(floatToFloat8(format, middle, false), i & 1 ? low : bits)
            << i;
        ASSERT_EQ(floatToFloat8(format, std::nextafter(middle, 1e9), false),
                  bits);
        ASSERT_EQ(floatToFloat8(format, std::nextafter(middle, 0), false), low);
      }
      previous = size;
    }
    EXPECT_EQ(floatToFloat8(format, INFINITY, false), most);
    EXPECT_EQ(floatToFloat8(format, -1e9, false), 0x80 | most);
    EXPECT_EQ(floatToFloat8(format, NAN, false), 0x7f);
    EXPECT_EQ(floatToFloat8(format, -1, true), 0);
  }
  EXPECT_EQ(packFloat8(Float8::E4m3, bitsOf(1.0f), bitsOf(2.0f), false),
            0x3840);
  EXPECT_EQ(unpackFloat8(Float8::E4m3, 0x3840), 0x3c004000u);
}

} // namespace
