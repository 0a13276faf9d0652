// simulator/arith/Convert.cpp - the general conversion and 8-bit floats.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Convert.h"

#include <algorithm>

namespace tessera::sim {

double roundIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::NearestAway:
    return std::round(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  }
  return value;
}

static FloatFormat formatOf(Type type) {
  switch (type) {
  case Type::F16:
    return FormatF16;
  case Type::Bf16:
    return FormatBf16;
  case Type::Tf32:
    return FormatTf32;
  case Type::F32:
    return FormatF32;
  default:
    return FormatF64;
  }
}

static double widen(Type type, uint64_t bits) {
  switch (type) {
  case Type::F16:
    return f16ToFloat(static_cast<uint16_t>(bits));
  case Type::Bf16:
    return bf16ToFloat(static_cast<uint16_t>(bits));
  case Type::Tf32:
    return asFloat(truncateTf32(static_cast<uint32_t>(bits)));
  case Type::F32:
    return asFloat(static_cast<uint32_t>(bits));
  default:
    return asDouble(bits);
  }
}

static uint64_t nanOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::Bf16:
    return CanonicalNan16;
  case Type::F64:
    return CanonicalNanF64;
  default:
    return CanonicalNanF32;
  }
}

// Extends integer bits according to the width and signedness of `type`.
static uint64_t extend(Type type, uint64_t bits) {
  int unused = 64 - bitWidth(type);
  if (isSigned(type))
    return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >>
                                 unused);
  return bits << unused >> unused;
}

static uint64_t largest(Type type) {
  return (~uint64_t{0} >> (64 - bitWidth(type))) >> (isSigned(type) ? 1 : 0);
}

static uint64_t floatToInt(Type to, Type from, double value,
                           Rounding rounding) {
  if (value != value) {
    bool zero = from != Type::F64 && bitWidth(to) != 64;
    return zero ? 0 : extend(to, uint64_t{1} << (bitWidth(to) - 1));
  }
  double whole = roundIntegral(value, rounding);
  // Compares with 2^width, which a double represents exactly; it cannot
  // represent the largest 64-bit integer.
  double above = std::ldexp(1.0, bitWidth(to) - (isSigned(to) ? 1 : 0));
  if (whole >= above)
    return largest(to);
  if (isSigned(to))
    return whole < -above ? extend(to, uint64_t{1} << (bitWidth(to) - 1))
                          : static_cast<uint64_t>(static_cast<int64_t>(whole));
  return whole <= 0 ? 0 : static_cast<uint64_t>(whole);
}

static uint64_t intToInt(Type to, Type from, bool saturate, uint64_t bits) {
  if (!saturate)
    return extend(to, bits);
  bool negative = isSigned(from) && static_cast<int64_t>(bits) < 0;
  if (negative) {
    if (!isSigned(to))
      return 0;
    int64_t least = -static_cast<int64_t>(largest(to)) - 1;
    return static_cast<uint64_t>(std::max(static_cast<int64_t>(bits), least));
  }
  return std::min(bits, largest(to));
}

static uint64_t finishFloat(Type to, const ConvertMode &mode, uint64_t bits) {
  FloatFormat format = formatOf(to);
  uint64_t sign = uint64_t{1} << (format.width() - 1);
  if (mode.ftz && (to == Type::F32 || to == Type::F16) &&
      (bits & format.infinity()) == 0)
    bits &= sign;
  if (mode.satfinite && (bits & ~sign) == format.infinity())
    bits = (bits & sign) | (format.infinity() - 1);
  if (mode.relu && (bits & sign))
    bits = 0;
  if (mode.sat) {
    uint64_t one = static_cast<uint64_t>(format.bias())
                   << format.significandBits;
    bits = bits & sign ? 0 : std::min(bits, one);
  }
  return to == Type::Tf32 ? bits << 13 : bits;
}

uint64_t convert(Type to, Type from, const ConvertMode &mode, uint64_t bits) {
  if (!isFloat(from)) {
    bits = extend(from, bits);
    if (!isFloat(to))
      return intToInt(to, from, mode.sat, bits);
    bool negative = isSigned(from) && static_cast<int64_t>(bits) < 0;
    return finishFloat(to, mode,
                       roundToFormat(negative, negative ? -bits : bits, 0,
                                     false, formatOf(to), mode.rounding));
  }
  if (mode.ftz && from == Type::F32)
    bits = flushF32(static_cast<uint32_t>(bits));
  double value = widen(from, bits);
  if (!isFloat(to))
    return floatToInt(to, from, value, mode.rounding);
  if (value != value)
    return mode.sat ? 0 : nanOf(to);
  Rounding rounding = mode.rounding;
  if (mode.integral) {
    value = roundIntegral(value, rounding);
    rounding = Rounding::Nearest;
  }
  FloatFormat format = formatOf(to);
  if (std::isinf(value)) {
    uint64_t sign = static_cast<uint64_t>(value < 0) << (format.width() - 1);
    return finishFloat(to, mode, sign | format.infinity());
  }
  return finishFloat(to, mode, roundDouble(value, 0, format, rounding));
}

static constexpr FloatFormat FormatE4m3{3, 4};
static constexpr FloatFormat FormatE5m2{2, 5};

uint8_t floatToFloat8(Float8 format, double value, bool relu) {
  if (value != value)
    return 0x7f;
  if (relu && std::signbit(value))
    return 0;
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  bool e4m3 = format == Float8::E4m3;
  double limit = e4m3 ? 448 : 57344;
  value = std::min(std::fabs(value), limit);
  if (!e4m3)
    return sign | static_cast<uint8_t>(
                      roundDouble(value, 0, FormatE5m2, Rounding::Nearest));
  // e4m3 uses its highest exponent for finite numbers, so the general rounding
  // does not apply. Counts units in the last place instead.
  int exponent;
  std::frexp(value, &exponent); // value in [2^(exponent-1), 2^exponent)
  int unit = std::max(exponent - 1, 1 - FormatE4m3.bias()) -
             FormatE4m3.significandBits;
  double whole = roundIntegral(std::ldexp(value, -unit), Rounding::Nearest);
  auto steps = static_cast<uint32_t>(whole); // 0..16 units
  uint32_t field =
      value == 0 ? 0
                 : static_cast<uint32_t>(unit + FormatE4m3.significandBits +
                                         FormatE4m3.bias() - 1);
  return sign |
         static_cast<uint8_t>((field << FormatE4m3.significandBits) + steps);
}

float float8ToFloat(Float8 format, uint8_t bits) {
  if (format == Float8::E5m2)
    return f16ToFloat(static_cast<uint16_t>(bits << 8));
  int field = (bits >> 3) & 15, significand = bits & 7;
  if (field == 15 && significand == 7)
    return asFloat(CanonicalNanF32);
  float value =
      field == 0 ? std::ldexp(static_cast<float>(significand), -9)
                 : std::ldexp(static_cast<float>(8 + significand), field - 10);
  return bits & 0x80 ? -value : value;
}

uint32_t convertPack(Type to, uint32_t a, uint32_t b, uint32_t c) {
  int width = bitWidth(to);
  uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  auto saturated = [&](uint32_t v) {
    return static_cast<uint32_t>(convert(to, Type::S32, {.sat = true}, v)) &
           mask;
  };
  uint32_t pair = saturated(a) << width | saturated(b);
  return width == 16 ? pair : c << (2 * width) | pair;
}

} // namespace tessera::sim
