// simulator/arith/Float.h - f32 and f64 arithmetic as PTX defines it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, "Floating-Point Instructions": add, sub, mul, fma, div, sqrt, rcp
// with all four roundings, .ftz and .sat. Every result is correctly rounded.
//
// f32 under a directed rounding goes through double: sums and products of
// floats have an exact value that is a pair of doubles, quotients and roots
// have an exactly representable remainder; both say on which side of the
// nearest double the exact value lies. f64 under a directed rounding uses the
// host's rounding mode (Double.cpp). Build with -ffp-contract=off
// (tessera_sim_arith says so).
#pragma once

#include "simulator/arith/Bits.h"

#include <cmath>

namespace tessera::sim {

// The modifiers of a floating-point instruction, as a template argument.
struct FloatMode {
  Rounding rounding = Rounding::Nearest;
  bool ftz = false;
  bool sat = false;
};

template <FloatMode M>
uint32_t inputF32(uint32_t a) {
  return M.ftz ? flushF32(a) : a;
}

template <FloatMode M>
uint32_t finishF32(uint32_t result) {
  if constexpr (M.ftz)
    result = flushF32(result);
  if constexpr (M.sat)
    result = saturateF32(result);
  return result;
}

// (value, residue) of exact arithmetic in double to a float's bits.
template <Rounding R>
uint32_t narrowExact(double value, int residue) {
  if (value != value)
    return CanonicalNanF32;
  if (std::isinf(value))
    return bitsOf(static_cast<float>(value));
  return static_cast<uint32_t>(roundDouble(value, residue, FormatF32, R));
}

inline int signOf(double value) { return (value > 0) - (value < 0); }

// a + b, both floats or exact products of two, under a directed rounding. An
// exact cancellation gives +0, and -0 when rounding down.
template <Rounding R>
uint32_t sumF32(double a, double b) {
  double error = 0;
  double sum = a + b;
  if (std::isfinite(sum))
    sum = addExact(a, b, error);
  if (sum == 0 && error == 0) {
    bool minus = std::signbit(a) && std::signbit(b);
    if (R == Rounding::Down)
      minus = std::signbit(a) || std::signbit(b);
    return minus ? 0x80000000u : 0;
  }
  return narrowExact<R>(sum, signOf(error));
}

template <FloatMode M = {}>
uint32_t addF32(uint32_t a, uint32_t b) {
  a = inputF32<M>(a);
  b = inputF32<M>(b);
  uint32_t result;
  if constexpr (M.rounding == Rounding::Nearest)
    result = canonicalF32(asFloat(a) + asFloat(b));
  else
    result = sumF32<M.rounding>(asFloat(a), asFloat(b));
  return finishF32<M>(result);
}

template <FloatMode M = {}>
uint32_t subF32(uint32_t a, uint32_t b) {
  return addF32<M>(a, b ^ 0x80000000);
}

template <FloatMode M = {}>
uint32_t mulF32(uint32_t a, uint32_t b) {
  a = inputF32<M>(a);
  b = inputF32<M>(b);
  uint32_t result;
  if constexpr (M.rounding == Rounding::Nearest)
    result = canonicalF32(asFloat(a) * asFloat(b));
  else
    result = narrowExact<M.rounding>(
        static_cast<double>(asFloat(a)) * asFloat(b), 0);
  return finishF32<M>(result);
}

template <FloatMode M = {}>
uint32_t fmaF32(uint32_t a, uint32_t b, uint32_t c) {
  a = inputF32<M>(a);
  b = inputF32<M>(b);
  c = inputF32<M>(c);
  uint32_t result;
  if constexpr (M.rounding == Rounding::Nearest)
    result = canonicalF32(std::fma(asFloat(a), asFloat(b), asFloat(c)));
  else
    result = sumF32<M.rounding>(static_cast<double>(asFloat(a)) * asFloat(b),
                                asFloat(c));
  return finishF32<M>(result);
}

template <FloatMode M = {}>
uint32_t divF32(uint32_t a, uint32_t b) {
  a = inputF32<M>(a);
  b = inputF32<M>(b);
  uint32_t result;
  if constexpr (M.rounding == Rounding::Nearest) {
    result = canonicalF32(asFloat(a) / asFloat(b));
  } else {
    double x = asFloat(a), y = asFloat(b), quotient = x / y;
    int residue = 0;
    if (std::isfinite(quotient) && std::isfinite(y))
      residue = signOf(std::fma(-quotient, y, x)) * (y < 0 ? -1 : 1);
    result = narrowExact<M.rounding>(quotient, residue);
  }
  return finishF32<M>(result);
}

template <FloatMode M = {}>
uint32_t rcpF32(uint32_t a) {
  return divF32<M>(0x3f800000, a);
}

template <FloatMode M = {}>
uint32_t sqrtF32(uint32_t a) {
  a = inputF32<M>(a);
  uint32_t result;
  if constexpr (M.rounding == Rounding::Nearest) {
    result = canonicalF32(std::sqrt(asFloat(a)));
  } else {
    double x = asFloat(a), root = std::sqrt(x);
    int residue = std::isfinite(root) ? signOf(std::fma(-root, root, x)) : 0;
    result = narrowExact<M.rounding>(root, residue);
  }
  return finishF32<M>(result);
}

// PTX ISA, abs and neg: NaN in gives an unspecified NaN; ours keeps it.
template <bool Ftz = false>
uint32_t absF32(uint32_t a) {
  return (Ftz ? flushF32(a) : a) & 0x7fffffff;
}
template <bool Ftz = false>
uint32_t negF32(uint32_t a) {
  return (Ftz ? flushF32(a) : a) ^ 0x80000000;
}

// min/max (PTX ISA): -0 < +0; one NaN gives the other
// operand unless Nan, two give the canonical NaN. Xor is .xorsign.abs:
// magnitudes are compared, the sign is the xor of both signs.
struct MinMaxMode {
  bool ftz = false;
  bool nan = false;
  bool xorsign = false;
};

namespace detail {
// Order of float bits as integers: monotone, with -0 below +0.
inline int32_t orderF32(uint32_t a) {
  return static_cast<int32_t>(a ^ ((0u - (a >> 31)) & 0x7fffffff));
}
inline int64_t orderF64(uint64_t a) {
  return static_cast<int64_t>(a ^ ((0ull - (a >> 63)) & 0x7fffffffffffffff));
}
} // namespace detail

template <bool Max, MinMaxMode M>
uint32_t minMaxF32(uint32_t a, uint32_t b) {
  a = M.ftz ? flushF32(a) : a;
  b = M.ftz ? flushF32(b) : b;
  uint32_t sign = (a ^ b) & 0x80000000;
  if constexpr (M.xorsign) {
    a &= 0x7fffffff;
    b &= 0x7fffffff;
  }
  int32_t x = detail::orderF32(a), y = detail::orderF32(b);
  uint32_t result = (Max ? x > y : x < y) ? a : b;
  bool nanA = isNanF32(a), nanB = isNanF32(b);
  if constexpr (M.nan) {
    result = nanA || nanB ? CanonicalNanF32 : result;
  } else {
    result = nanA ? b : result;
    result = nanB ? a : result;
    result = nanA && nanB ? CanonicalNanF32 : result;
  }
  if constexpr (M.xorsign)
    result = isNanF32(result) ? result : (result & 0x7fffffff) | sign;
  return result;
}

// PTX ISA, copysign: the sign of a on the magnitude of b.
inline uint32_t copysignF32(uint32_t a, uint32_t b) {
  return (a & 0x80000000) | (b & 0x7fffffff);
}
inline uint64_t copysignF64(uint64_t a, uint64_t b) {
  return (a & 0x8000000000000000) | (b & 0x7fffffffffffffff);
}

// Double precision. No .ftz, no .sat.
uint64_t directedF64(int op, Rounding rounding, double a, double b, double c);
inline constexpr int OpAdd = 0, OpMul = 1, OpFma = 2, OpDiv = 3, OpSqrt = 4;

template <Rounding R = Rounding::Nearest>
uint64_t addF64(uint64_t a, uint64_t b) {
  if constexpr (R == Rounding::Nearest)
    return canonicalF64(asDouble(a) + asDouble(b));
  return directedF64(OpAdd, R, asDouble(a), asDouble(b), 0);
}
template <Rounding R = Rounding::Nearest>
uint64_t subF64(uint64_t a, uint64_t b) {
  return addF64<R>(a, b ^ 0x8000000000000000);
}
template <Rounding R = Rounding::Nearest>
uint64_t mulF64(uint64_t a, uint64_t b) {
  if constexpr (R == Rounding::Nearest)
    return canonicalF64(asDouble(a) * asDouble(b));
  return directedF64(OpMul, R, asDouble(a), asDouble(b), 0);
}
template <Rounding R = Rounding::Nearest>
uint64_t fmaF64(uint64_t a, uint64_t b, uint64_t c) {
  if constexpr (R == Rounding::Nearest)
    return canonicalF64(std::fma(asDouble(a), asDouble(b), asDouble(c)));
  return directedF64(OpFma, R, asDouble(a), asDouble(b), asDouble(c));
}
template <Rounding R = Rounding::Nearest>
uint64_t divF64(uint64_t a, uint64_t b) {
  if constexpr (R == Rounding::Nearest)
    return canonicalF64(asDouble(a) / asDouble(b));
  return directedF64(OpDiv, R, asDouble(a), asDouble(b), 0);
}
template <Rounding R = Rounding::Nearest>
uint64_t rcpF64(uint64_t a) {
  return divF64<R>(0x3ff0000000000000, a);
}
template <Rounding R = Rounding::Nearest>
uint64_t sqrtF64(uint64_t a) {
  if constexpr (R == Rounding::Nearest)
    return canonicalF64(std::sqrt(asDouble(a)));
  return directedF64(OpSqrt, R, asDouble(a), 0, 0);
}
inline uint64_t absF64(uint64_t a) { return a & 0x7fffffffffffffff; }
inline uint64_t negF64(uint64_t a) { return a ^ 0x8000000000000000; }

template <bool Max>
uint64_t minMaxF64(uint64_t a, uint64_t b) {
  int64_t x = detail::orderF64(a), y = detail::orderF64(b);
  uint64_t result = (Max ? x > y : x < y) ? a : b;
  bool nanA = isNanF64(a), nanB = isNanF64(b);
  result = nanA ? b : result;
  result = nanB ? a : result;
  return nanA && nanB ? CanonicalNanF64 : result;
}
inline uint64_t minF64(uint64_t a, uint64_t b) {
  return minMaxF64<false>(a, b);
}
inline uint64_t maxF64(uint64_t a, uint64_t b) { return minMaxF64<true>(a, b); }

} // namespace tessera::sim
