// simulator/arith/Approx.h - the approximate instructions of the special unit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, "Floating-Point Instructions" (rcp, sqrt, rsqrt, div .approx/.full;
// sin, cos, lg2, ex2, tanh) and "Half Precision Floating-Point Instructions"
// (ex2, tanh in 16 bits). The ISA bounds the error; a GPU stays within the
// bound but not at one value. Ours computes in double and rounds once:
//
//   instruction          bound in the ISA (relative unless said)    ours
//   rcp.approx           1 ulp                                      0.5 ulp
//   sqrt.approx          2^-23                                      0.5 ulp
//   rsqrt.approx         2^-22.9                                    0.501 ulp
//   div.approx, .full    2 ulp                                      0.501 ulp
//   sin, cos.approx      2^-20.5 absolute in [-2 pi, 2 pi]          0.501 ulp
//   lg2.approx           2^-22 absolute in (0.5, 2), else relative  0.501 ulp
//   ex2.approx           2^-22                                      0.501 ulp
//   tanh.approx          2^-11                                      0.501 ulp
//   16-bit ex2, tanh     2^-9.9 (f16), 2^-7 (bf16)                  0.501 ulp
//
// A kernel whose result depends on these errors is therefore not caught here.
#pragma once

#include "simulator/arith/Half.h"

namespace tessera::sim {

// 2^x within 2^-36: x = n + f, |f| <= 1/2, Taylor polynomial for 2^f. Free of
// branches and calls, so that it vectorizes.
inline double exp2Double(double x) {
  x = x < 1100.0 ? x : 1100.0;
  x = x > -1000.0 ? x : -1000.0;
  constexpr double Magic = 0x1.8p52;
  double shifted = x + Magic;
  double n = shifted - Magic;
  double t = (x - n) * 0x1.62e42fefa39efp-1; // ln 2
  double p = 1.0 / 362880;
  p = p * t + 1.0 / 40320;
  p = p * t + 1.0 / 5040;
  p = p * t + 1.0 / 720;
  p = p * t + 1.0 / 120;
  p = p * t + 1.0 / 24;
  p = p * t + 1.0 / 6;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  uint64_t exponent = bitsOf(shifted) - bitsOf(Magic) + 1023;
  exponent = x > 1023.0 ? 2046 : exponent;
  return p * asDouble(exponent << 52);
}

// log2 of a positive finite double, within 2^-45: m in [sqrt(1/2), sqrt(2)),
// log2 m = (2 / ln 2) artanh((m - 1) / (m + 1)).
inline double log2Double(double x) {
  uint64_t bits = bitsOf(x);
  uint64_t offset = bits - 0x3fe6a09e667f3bcd;
  int64_t exponent = static_cast<int64_t>(offset) >> 52;
  double m = asDouble(bits - (static_cast<uint64_t>(exponent) << 52));
  double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return static_cast<double>(static_cast<int32_t>(exponent)) +
         p * s * 0x1.71547652b82fep+1;
}

template <bool Ftz>
uint32_t approxInput(uint32_t a) {
  return Ftz ? flushF32(a) : a;
}
template <bool Ftz>
uint32_t approxResult(double value) {
  uint32_t bits = canonicalF32(static_cast<float>(value));
  return Ftz ? flushF32(bits) : bits;
}

// ex2(-inf) = +0, ex2(+inf) = +inf, ex2(NaN) = NaN. Without .ftz subnormals are
// kept on both sides.
template <bool Ftz = false>
uint32_t ex2F32(uint32_t a) {
  float x = asFloat(approxInput<Ftz>(a));
  double result = exp2Double(x);
  result = x != x ? static_cast<double>(x) : result;
  return approxResult<Ftz>(result);
}

// lg2 of a negative number is NaN, of a zero -inf.
template <bool Ftz = false>
uint32_t lg2F32(uint32_t a) {
  float x = asFloat(approxInput<Ftz>(a));
  double result = log2Double(x);
  result = x == INFINITY ? INFINITY : result;
  result = x == 0 ? -INFINITY : result;
  result = x < 0 || x != x ? NAN : result;
  return approxResult<Ftz>(result);
}

template <bool Ftz = false>
uint32_t rcpApproxF32(uint32_t a) {
  return approxResult<Ftz>(1.0 / asFloat(approxInput<Ftz>(a)));
}
template <bool Ftz = false>
uint32_t sqrtApproxF32(uint32_t a) {
  return approxResult<Ftz>(
      std::sqrt(static_cast<double>(asFloat(approxInput<Ftz>(a)))));
}
// rsqrt(-0) = -inf, rsqrt of a negative number is NaN.
template <bool Ftz = false>
uint32_t rsqrtF32(uint32_t a) {
  double x = asFloat(approxInput<Ftz>(a));
  return approxResult<Ftz>(1.0 / std::sqrt(x));
}
template <bool Ftz = false>
uint32_t sinF32(uint32_t a) {
  return approxResult<Ftz>(
      std::sin(static_cast<double>(asFloat(approxInput<Ftz>(a)))));
}
template <bool Ftz = false>
uint32_t cosF32(uint32_t a) {
  return approxResult<Ftz>(
      std::cos(static_cast<double>(asFloat(approxInput<Ftz>(a)))));
}
inline uint32_t tanhF32(uint32_t a) {
  return approxResult<false>(std::tanh(static_cast<double>(asFloat(a))));
}

// div.approx is a * (1 / b): for 2^126 < |b| < 2^128 the reciprocal is
// subnormal and the ISA makes the quotient 0, or NaN for an infinite a.
template <bool Ftz = false>
uint32_t divApproxF32(uint32_t a, uint32_t b) {
  double x = asFloat(approxInput<Ftz>(a)), y = asFloat(approxInput<Ftz>(b));
  double magnitude = std::fabs(y);
  bool tiny = magnitude > 0x1p126 && magnitude < 0x1p128;
  return approxResult<Ftz>(tiny ? x * std::copysign(0.0, y) : x / y);
}
// div.full scales its operands: 2 ulp over the whole range.
template <bool Ftz = false>
uint32_t divFullF32(uint32_t a, uint32_t b) {
  double x = asFloat(approxInput<Ftz>(a)), y = asFloat(approxInput<Ftz>(b));
  return approxResult<Ftz>(x / y);
}

// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the upper 32 bits of the operand
// in, of the result out; the lower ones are zero (2^-20 relative).
inline uint64_t upperF64(double value) {
  uint64_t bits = canonicalF64(value);
  if ((bits & 0x7ff0000000000000) == 0)
    bits &= 0x8000000000000000;
  return bits & 0xffffffff00000000;
}
inline uint64_t rcpApproxF64(uint64_t a) {
  return upperF64(1.0 / asDouble(upperF64(asDouble(a))));
}
inline uint64_t rsqrtApproxF64(uint64_t a, bool ftz) {
  if (ftz)
    return upperF64(1.0 / std::sqrt(asDouble(upperF64(asDouble(a)))));
  return canonicalF64(1.0 / std::sqrt(asDouble(a)));
}

// ex2.approx{.ftz}.f16, ex2.approx.ftz.bf16, tanh.approx.{f16,bf16}.
template <Half H, bool Ftz = false>
uint16_t ex2Half(uint16_t a) {
  double x = halfToDouble<H>(Ftz && H == Half::F16 ? flushF16(a) : a);
  double result = x != x ? x : exp2Double(x);
  uint16_t bits = doubleToHalf<H>(result);
  if constexpr (Ftz && H == Half::F16)
    bits = flushF16(bits);
  return bits;
}
template <Half H>
uint16_t tanhHalf(uint16_t a) {
  return doubleToHalf<H>(std::tanh(halfToDouble<H>(a)));
}

} // namespace tessera::sim
