// simulator/arith/Bits.h - register bits as numbers: formats, NaN, subnormals.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every function of this folder takes and returns register bits: uint16_t,
// uint32_t or uint64_t, as a PTX register holds them. They are branch-free
// where that is possible, so that a loop over the 32 lanes of a warp becomes
// vector code.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera::sim {

// Rounding of a floating-point result (table of modifiers, PTX ISA, "Rounding
// Modifiers").
enum class Rounding : uint8_t {
  Nearest,     // .rn: to nearest, ties to even
  Zero,        // .rz
  Down,        // .rm: towards minus infinity
  Up,          // .rp: towards plus infinity
  NearestAway, // .rna: to nearest, ties away from zero (cvt to tf32)
};

inline float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double asDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }

// What an instruction delivers when its result is not a number (PTX ISA,
// "Floating-Point Instructions"): one canonical value per format. Double
// precision follows the host.
inline constexpr uint32_t CanonicalNanF32 = 0x7fffffff;
inline constexpr uint64_t CanonicalNanF64 = 0x7ff8000000000000;
inline constexpr uint16_t CanonicalNan16 = 0x7fff; // both f16 and bf16

inline bool isNanF32(uint32_t a) { return (a & 0x7fffffff) > 0x7f800000; }
inline bool isNanF64(uint64_t a) {
  return (a & 0x7fffffffffffffff) > 0x7ff0000000000000;
}
inline bool isNanF16(uint16_t a) { return (a & 0x7fff) > 0x7c00; }
inline bool isNanBf16(uint16_t a) { return (a & 0x7fff) > 0x7f80; }

// .ftz: a subnormal becomes a zero of its sign.
inline uint32_t flushF32(uint32_t a) {
  return (a & 0x7f800000) == 0 ? a & 0x80000000 : a;
}
inline uint16_t flushF16(uint16_t a) {
  return (a & 0x7c00) == 0 ? static_cast<uint16_t>(a & 0x8000) : a;
}

inline uint32_t canonicalF32(float value) {
  return value != value ? CanonicalNanF32 : bitsOf(value);
}
inline uint64_t canonicalF64(double value) {
  return value != value ? CanonicalNanF64 : bitsOf(value);
}

// .sat: clamps to [0, 1]; NaN and negative values become +0.
inline uint32_t saturateF32(uint32_t a) {
  float value = asFloat(a);
  value = value > 0.0f ? value : 0.0f;
  value = value < 1.0f ? value : 1.0f;
  return bitsOf(value);
}

// A binary floating-point format of at most 64 bits in the IEEE style.
struct FloatFormat {
  int significandBits; // stored ones
  int exponentBits;
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int width() const { return 1 + exponentBits + significandBits; }
  uint64_t infinity() const {
    return ((uint64_t{1} << exponentBits) - 1) << significandBits;
  }
};
inline constexpr FloatFormat FormatF64{52, 11};
inline constexpr FloatFormat FormatF32{23, 8};
inline constexpr FloatFormat FormatTf32{10, 8}; // without the 13 low bits
inline constexpr FloatFormat FormatBf16{7, 8};
inline constexpr FloatFormat FormatF16{10, 5};

// Rounds (-1)^negative * significand * 2^exponent, plus something smaller than
// one unit of significand's last bit when `sticky`, to a format; subnormals are
// kept, overflow gives infinity or the largest finite number as IEEE 754 says.
// The general, slow way; fast ones beside it are tested against it.
inline uint64_t roundToFormat(bool negative, uint64_t significand, int exponent,
                              bool sticky, FloatFormat format,
                              Rounding rounding) {
  uint64_t sign = static_cast<uint64_t>(negative) << (format.width() - 1);
  if (significand == 0 && !sticky)
    return sign;
  if (significand == 0) { // smaller than anything: a sticky unit below zero
    significand = 1;
    exponent -= 62;
    sticky = true;
  }
  int shift = std::countl_zero(significand);
  significand <<= shift;
  exponent -= shift;
  // The value is significand * 2^exponent with the leading bit at 63.
  int leading = exponent + 63;
  int smallest = 1 - format.bias();
  int dropped = 63 - format.significandBits; // low bits that do not fit
  if (leading < smallest)
    dropped += smallest - leading;
  uint64_t kept = dropped > 63 ? 0 : significand >> dropped;
  bool half =
      dropped <= 64 && dropped > 0 && ((significand >> (dropped - 1)) & 1) != 0;
  bool below = sticky;
  if (dropped > 64)
    below = true;
  else if (dropped > 1)
    below |= (significand & ((uint64_t{1} << (dropped - 1)) - 1)) != 0;
  bool up = false;
  switch (rounding) {
  case Rounding::Nearest:
    up = half && (below || (kept & 1));
    break;
  case Rounding::NearestAway:
    up = half;
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    up = negative && (half || below);
    break;
  case Rounding::Up:
    up = !negative && (half || below);
    break;
  }
  kept += up;
  // The implicit bit of `kept` adds one to the exponent field, and so does a
  // carry out of the rounding.
  uint64_t field = leading < smallest ? 0 : leading + format.bias() - 1;
  uint64_t bits = (field << format.significandBits) + kept;
  if (bits >= format.infinity()) {
    bool away = rounding == Rounding::Nearest ||
                rounding == Rounding::NearestAway ||
                (rounding == Rounding::Down && negative) ||
                (rounding == Rounding::Up && !negative);
    bits = away ? format.infinity() : format.infinity() - 1;
  }
  return sign | bits;
}

// A finite double rounded to a format; `residue` (-1, 0, 1) says on which side
// of the double the exact value lies.
inline uint64_t roundDouble(double value, int residue, FloatFormat format,
                            Rounding rounding) {
  uint64_t bits = bitsOf(value);
  bool negative = bits >> 63;
  int field = static_cast<int>((bits >> 52) & 0x7ff);
  uint64_t significand = bits & 0xfffffffffffff;
  if (field != 0)
    significand |= uint64_t{1} << 52;
  else
    field = 1;
  int exponent = field - 1075;
  if (significand == 0 && residue != 0)
    negative = residue < 0;
  bool sticky = residue != 0;
  // Below in magnitude: one unit less (of three extra bits), then sticky.
  bool smaller = sticky && significand != 0 && ((residue < 0) != negative);
  significand = (significand << 3) - (smaller ? 1 : 0);
  return roundToFormat(negative, significand, exponent - 3, sticky, format,
                       rounding);
}

// Rounds to odd: when the double is not the exact value, its last bit becomes 1
// (after a step towards the exact value). Rounding the result again to a format
// that is at least two bits shorter is then as good as rounding once.
inline double roundOdd(double value, double error) {
  uint64_t bits = bitsOf(value);
  bool inexact = error != 0 && error == error;
  // A step towards zero when the error points there.
  bool inwards = inexact && ((bitsOf(error) ^ bits) >> 63);
  bits -= inwards;
  bits |= inexact;
  return asDouble(bits);
}

// s + error = a + b exactly (Knuth), for finite doubles without overflow.
inline double addExact(double a, double b, double &error) {
  double sum = a + b;
  double part = sum - a;
  error = (a - (sum - part)) + (b - part);
  return sum;
}

// 16-bit formats to and from float. Widening is exact and keeps NaN.
inline float f16ToFloat(uint16_t a) {
  uint32_t magnitude = a & 0x7fff;
  uint32_t sign = static_cast<uint32_t>(a & 0x8000) << 16;
  // Exponent re-biased by a multiplication, which also normalizes subnormals.
  float scaled = asFloat(magnitude << 13) * 0x1p112f;
  uint32_t bits = magnitude >= 0x7c00 ? 0x7f800000 | ((magnitude & 0x3ff) << 13)
                                      : bitsOf(scaled);
  return asFloat(sign | bits);
}
inline float bf16ToFloat(uint16_t a) {
  return asFloat(static_cast<uint32_t>(a) << 16);
}

// Rounds to nearest even; NaN becomes the canonical one.
inline uint16_t floatToBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(isNanF32(bits) ? CanonicalNan16 : rounded);
}
inline uint16_t floatToF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  // Normal results: drop 13 bits with ties to even, re-bias.
  uint32_t normal =
      (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Subnormal results: adding 0.5 aligns the last f16 bit with float's.
  uint32_t subnormal = bitsOf(asFloat(magnitude) + 0.5f) - 0x3f000000;
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? CanonicalNan16 : (sign | result);
  return static_cast<uint16_t>(result);
}

} // namespace tessera::sim
