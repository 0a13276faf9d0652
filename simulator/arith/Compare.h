// simulator/arith/Compare.h - setp, set, testp: comparisons of every type.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, "Comparison and Selection Instructions", "Half Precision Comparison
// Instructions", testp. An ordered comparison with a NaN is false, an unordered
// one (equ, neu, ltu, leu, gtu, geu) true; num and nan ask for NaN themselves.
// Both zeros are equal.
#pragma once

#include "simulator/arith/Bits.h"

#include <cmath>

namespace tessera::sim {

enum class Compare : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge, // integers (signed by the type), floats
  Lo,
  Ls,
  Hi,
  Hs, // unsigned integers
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu, // floats, unordered
  Num,
  Nan,
};

// T: int16_t ... uint64_t. .b types compare with eq and ne only.
template <Compare C, class T>
bool compareInt(T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (C) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne:
    return a != b;
  case Compare::Lt:
    return a < b;
  case Compare::Le:
    return a <= b;
  case Compare::Gt:
    return a > b;
  case Compare::Ge:
    return a >= b;
  case Compare::Lo:
    return static_cast<U>(a) < static_cast<U>(b);
  case Compare::Ls:
    return static_cast<U>(a) <= static_cast<U>(b);
  case Compare::Hi:
    return static_cast<U>(a) > static_cast<U>(b);
  case Compare::Hs:
    return static_cast<U>(a) >= static_cast<U>(b);
  default:
    return false;
  }
}

// F: float or double; 16-bit floats are widened first.
template <Compare C, class F>
bool compareFloat(F a, F b) {
  bool unordered = a != a || b != b;
  switch (C) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne:
    return !unordered && a != b;
  case Compare::Lt:
    return a < b;
  case Compare::Le:
    return a <= b;
  case Compare::Gt:
    return a > b;
  case Compare::Ge:
    return a >= b;
  case Compare::Equ:
    return unordered || a == b;
  case Compare::Neu:
    return a != b;
  case Compare::Ltu:
    return !(a >= b);
  case Compare::Leu:
    return !(a > b);
  case Compare::Gtu:
    return !(a <= b);
  case Compare::Geu:
    return !(a < b);
  case Compare::Num:
    return !unordered;
  case Compare::Nan:
    return unordered;
  default:
    return false;
  }
}

template <Compare C, bool Ftz = false>
bool compareF32(uint32_t a, uint32_t b) {
  return compareFloat<C>(asFloat(Ftz ? flushF32(a) : a),
                         asFloat(Ftz ? flushF32(b) : b));
}
template <Compare C>
bool compareF64(uint64_t a, uint64_t b) {
  return compareFloat<C>(asDouble(a), asDouble(b));
}
template <Compare C, bool Ftz = false>
bool compareF16(uint16_t a, uint16_t b) {
  return compareFloat<C>(f16ToFloat(Ftz ? flushF16(a) : a),
                         f16ToFloat(Ftz ? flushF16(b) : b));
}
template <Compare C>
bool compareBf16(uint16_t a, uint16_t b) {
  return compareFloat<C>(bf16ToFloat(a), bf16ToFloat(b));
}

enum class TestProperty : uint8_t {
  Finite,
  Infinite,
  Number,
  NotANumber,
  Normal,
  Subnormal,
};

// testp: zero is a number, finite, and neither normal nor subnormal.
inline bool testProperty(TestProperty property, double value, bool subnormal) {
  switch (property) {
  case TestProperty::Finite:
    return std::isfinite(value);
  case TestProperty::Infinite:
    return std::isinf(value);
  case TestProperty::Number:
    return value == value;
  case TestProperty::NotANumber:
    return value != value;
  case TestProperty::Normal:
    return std::isfinite(value) && value != 0 && !subnormal;
  case TestProperty::Subnormal:
    return subnormal;
  }
  return false;
}
inline bool testPropertyF32(TestProperty property, uint32_t a) {
  bool subnormal = (a & 0x7f800000) == 0 && (a & 0x7fffff) != 0;
  return testProperty(property, asFloat(a), subnormal);
}
inline bool testPropertyF64(TestProperty property, uint64_t a) {
  bool subnormal = (a & 0x7ff0000000000000) == 0 && (a << 12) != 0;
  return testProperty(property, asDouble(a), subnormal);
}

} // namespace tessera::sim
