// simulator/arith/Convert.h - cvt between every pair of types.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, cvt and cvt.pack. Values travel as 64 register
// bits, zero- or sign-extended as the source type says. `convert` is the
// general way for any pair and any modifiers; the inline functions after it are
// the fast way for the pairs that kernels use per element.
#pragma once

#include "simulator/arith/Half.h"
#include "simulator/isa/Types.h"

#include <cstring>

namespace tessera::sim {

// Numbers alone in a register: what cvt converts one by one.
constexpr bool isFloat(Type t) {
  return t == Type::F16 || t == Type::Bf16 || t == Type::Tf32 ||
         t == Type::F32 || t == Type::F64;
}
constexpr bool isSigned(Type t) { return t >= Type::S8 && t <= Type::S64; }
constexpr bool isScalar(Type t) {
  return isFloat(t) || isSigned(t) || (t >= Type::U8 && t <= Type::U64);
}
constexpr int bitWidth(Type t) {
  switch (t) {
  case Type::U8:
  case Type::S8:
  case Type::E4m3:
  case Type::E5m2:
    return 8;
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::Bf16:
    return 16;
  case Type::U32:
  case Type::S32:
  case Type::F32:
  case Type::Tf32:
    return 32;
  default:
    return 64;
  }
}

struct ConvertMode {
  // Of the result: .rn .rz .rm .rp .rna, or .rni .rzi .rmi .rpi when
  // `integral`.
  Rounding rounding = Rounding::Nearest;
  // Rounds to a whole number: required when the result is an integer, allowed
  // between floats of the same size.
  bool integral = false;
  bool ftz = false;
  bool sat = false;       // .sat
  bool relu = false;      // .relu
  bool satfinite = false; // .satfinite: the largest finite number for overflow
};

// Rounds a double to a whole number.
double roundIntegral(double value, Rounding rounding);

// One conversion. The source's bits above its width are ignored; the result is
// zero-extended (sign-extended for signed types) to 64 bits. Float to integer
// clamps to the destination's range; NaN becomes 0, or the value with only the
// top bit set when source is f64 or the destination has 64 bits.
uint64_t convert(Type to, Type from, const ConvertMode &mode, uint64_t bits);

// Fast ways. f32 -> f16, bf16 (.rn): floatToF16, floatToBf16 in Bits.h.
template <bool Ftz = false>
uint32_t f16ToF32(uint16_t a) {
  float value = f16ToFloat(a);
  uint32_t bits = canonicalF32(value);
  return Ftz ? flushF32(bits) : bits;
}
inline uint32_t bf16ToF32(uint16_t a) { return canonicalF32(bf16ToFloat(a)); }

inline uint32_t s32ToF32(uint32_t a) {
  return bitsOf(static_cast<float>(static_cast<int32_t>(a)));
}
inline uint32_t u32ToF32(uint32_t a) { return bitsOf(static_cast<float>(a)); }

// .rzi.s32.f32
inline uint32_t f32ToS32(uint32_t a) {
  double value = asFloat(a);
  value = value == value ? value : 0.0;
  value = value > -2147483648.0 ? value : -2147483648.0;
  value = value < 2147483647.0 ? value : 2147483647.0;
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

// cvt.rn.f16x2.f32 d, a, b and cvt.rn.bf16x2.f32: a in the upper half.
template <Half H, bool Relu = false>
uint32_t packF32(uint32_t a, uint32_t b) {
  auto narrow = [](uint32_t v) {
    return H == Half::F16 ? floatToF16(asFloat(v)) : floatToBf16(asFloat(v));
  };
  constexpr HalfMode mode{.ftz = false, .sat = false, .relu = Relu};
  return static_cast<uint32_t>(finishHalf<H, mode>(narrow(a))) << 16 |
         finishHalf<H, mode>(narrow(b));
}

// cvt.rna.tf32.f32: nearest, ties away; the low 13 bits become zero. What an
// instruction that reads tf32 sees of any f32 register: truncateTf32.
inline uint32_t f32ToTf32(uint32_t a) {
  uint32_t rounded = (a + 0x1000) & 0xffffe000;
  bool special = (a & 0x7f800000) == 0x7f800000;
  uint32_t kept = isNanF32(a) ? CanonicalNanF32 : a;
  return special ? kept : rounded;
}
inline uint32_t truncateTf32(uint32_t a) { return a & 0xffffe000; }

// 8-bit floats (PTX ISA, "Alternate Floating-Point Data Formats"): e4m3 has no
// infinity and NaN 0x7f; e5m2 follows IEEE, NaN 0x7f. Conversion is
// .rn.satfinite: too large becomes the largest.
enum class Float8 : uint8_t { E4m3, E5m2 };
uint8_t floatToFloat8(Float8 format, double value, bool relu);
float float8ToFloat(Float8 format, uint8_t bits);

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b: a in the upper byte.
inline uint16_t packFloat8(Float8 format, uint32_t a, uint32_t b, bool relu) {
  return static_cast<uint16_t>(floatToFloat8(format, asFloat(a), relu) << 8 |
                               floatToFloat8(format, asFloat(b), relu));
}
// cvt.rn.f16x2.e4m3x2 d, a: always exact.
inline uint32_t unpackFloat8(Float8 format, uint16_t a) {
  return floatToF16(float8ToFloat(format, static_cast<uint8_t>(a))) |
         static_cast<uint32_t>(
             floatToF16(float8ToFloat(format, static_cast<uint8_t>(a >> 8))))
             << 16;
}

// cvt.pack.sat.{u16,s16}.s32 and .{u8,s8}.s32.b32:
// d = sat(a) : sat(b), above (c << 2 * width) for the 8-bit forms.
uint32_t convertPack(Type to, uint32_t a, uint32_t b, uint32_t c);

} // namespace tessera::sim
