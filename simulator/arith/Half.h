// simulator/arith/Half.h - f16, bf16 and their packed pairs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, "Half Precision Floating-Point Instructions": add, sub, mul, fma,
// neg, abs, min, max for .f16, .f16x2, .bf16, .bf16x2, rounded once (.rn).
// Sums, products and fused multiply-adds of 16-bit numbers are formed exactly,
// as a double or a pair of doubles, and then rounded to 16 bits.
#pragma once

#include "simulator/arith/Float.h"

namespace tessera::sim {

enum class Half : uint8_t { F16, Bf16 };

template <Half H>
double halfToDouble(uint16_t a) {
  return H == Half::F16 ? f16ToFloat(a) : bf16ToFloat(a);
}

// A double rounded once to 16 bits. bf16's range is float's, f16's is inside:
// through a float rounded to odd nothing is lost, but subnormal bf16 lie below
// float's last subnormal bit only if the double does, and odd rounding keeps
// that.
template <Half H>
uint16_t doubleToHalf(double value) {
  float narrow = static_cast<float>(value);
  double back = narrow;
  uint32_t bits = bitsOf(narrow);
  bool inexact = back != value && back == back;
  // Towards the exact value, then odd. An overflow to infinity steps back to
  // the largest float, which rounds to infinity again in both formats.
  bool beyond = inexact && (std::fabs(back) > std::fabs(value));
  bits -= beyond;
  bits |= inexact;
  return H == Half::F16 ? floatToF16(asFloat(bits))
                        : floatToBf16(asFloat(bits));
}

struct HalfMode {
  bool ftz = false;  // f16 only (and add/sub/mul/fma)
  bool sat = false;  // f16 only
  bool relu = false; // fma: clamps negative results to 0, NaN canonical
};

template <Half H, HalfMode M>
uint16_t inputHalf(uint16_t a) {
  return M.ftz ? flushF16(a) : a;
}

template <Half H, HalfMode M>
uint16_t finishHalf(uint16_t result) {
  if constexpr (M.ftz)
    result = flushF16(result);
  if constexpr (M.sat) {
    float value = H == Half::F16 ? f16ToFloat(result) : bf16ToFloat(result);
    uint16_t one = H == Half::F16 ? 0x3c00 : 0x3f80;
    result = value > 0 ? (value < 1 ? result : one) : 0;
  }
  if constexpr (M.relu) {
    bool nan = H == Half::F16 ? isNanF16(result) : isNanBf16(result);
    result = nan ? CanonicalNan16 : (result & 0x8000) ? 0 : result;
  }
  return result;
}

template <Half H, HalfMode M = {}>
uint16_t addHalf(uint16_t a, uint16_t b) {
  double x = halfToDouble<H>(inputHalf<H, M>(a));
  double y = halfToDouble<H>(inputHalf<H, M>(b));
  double error;
  double sum = addExact(x, y, error);
  return finishHalf<H, M>(doubleToHalf<H>(roundOdd(sum, error)));
}
template <Half H, HalfMode M = {}>
uint16_t subHalf(uint16_t a, uint16_t b) {
  return addHalf<H, M>(a, b ^ 0x8000);
}
template <Half H, HalfMode M = {}>
uint16_t mulHalf(uint16_t a, uint16_t b) {
  double x = halfToDouble<H>(inputHalf<H, M>(a));
  double y = halfToDouble<H>(inputHalf<H, M>(b));
  return finishHalf<H, M>(doubleToHalf<H>(x * y));
}
template <Half H, HalfMode M = {}>
uint16_t fmaHalf(uint16_t a, uint16_t b, uint16_t c) {
  double x = halfToDouble<H>(inputHalf<H, M>(a));
  double y = halfToDouble<H>(inputHalf<H, M>(b));
  double z = halfToDouble<H>(inputHalf<H, M>(c));
  double error;
  double sum = addExact(x * y, z, error);
  return finishHalf<H, M>(doubleToHalf<H>(roundOdd(sum, error)));
}

inline uint16_t absHalf(uint16_t a) { return a & 0x7fff; }
inline uint16_t negHalf(uint16_t a) { return a ^ 0x8000; }

template <Half H, bool Max, MinMaxMode M = {}>
uint16_t minMaxHalf(uint16_t a, uint16_t b) {
  if constexpr (M.ftz) {
    a = flushF16(a);
    b = flushF16(b);
  }
  uint16_t sign = (a ^ b) & 0x8000;
  if constexpr (M.xorsign) {
    a &= 0x7fff;
    b &= 0x7fff;
  }
  auto order = [](uint16_t v) {
    return static_cast<int16_t>(v ^ ((0u - (v >> 15)) & 0x7fff));
  };
  uint16_t result = (Max ? order(a) > order(b) : order(a) < order(b)) ? a : b;
  bool nanA = H == Half::F16 ? isNanF16(a) : isNanBf16(a);
  bool nanB = H == Half::F16 ? isNanF16(b) : isNanBf16(b);
  if constexpr (M.nan) {
    result = nanA || nanB ? CanonicalNan16 : result;
  } else {
    result = nanA ? b : result;
    result = nanB ? a : result;
    result = nanA && nanB ? CanonicalNan16 : result;
  }
  if constexpr (M.xorsign)
    result = (H == Half::F16 ? isNanF16(result) : isNanBf16(result))
                 ? result
                 : static_cast<uint16_t>((result & 0x7fff) | sign);
  return result;
}
template <Half H, MinMaxMode M = {}>
uint16_t minHalf(uint16_t a, uint16_t b) {
  return minMaxHalf<H, false, M>(a, b);
}
template <Half H, MinMaxMode M = {}>
uint16_t maxHalf(uint16_t a, uint16_t b) {
  return minMaxHalf<H, true, M>(a, b);
}

// Applies a 16-bit operation to both halves of packed registers:
//   packed(a, b, [](uint16_t x, uint16_t y) { return addHalf<Half::F16>(x, y);
//   })
template <class F>
uint32_t packed(uint32_t a, F f) {
  return f(static_cast<uint16_t>(a)) |
         static_cast<uint32_t>(f(static_cast<uint16_t>(a >> 16))) << 16;
}
template <class F>
uint32_t packed(uint32_t a, uint32_t b, F f) {
  return f(static_cast<uint16_t>(a), static_cast<uint16_t>(b)) |
         static_cast<uint32_t>(
             f(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16)))
             << 16;
}
template <class F>
uint32_t packed(uint32_t a, uint32_t b, uint32_t c, F f) {
  return f(static_cast<uint16_t>(a), static_cast<uint16_t>(b),
           static_cast<uint16_t>(c)) |
         static_cast<uint32_t>(f(static_cast<uint16_t>(a >> 16),
                                 static_cast<uint16_t>(b >> 16),
                                 static_cast<uint16_t>(c >> 16)))
             << 16;
}

} // namespace tessera::sim
