// simulator/arith/Integer.h - integer, bit-field and permute instructions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer
// Arithmetic Instructions", "Logic and Shift Instructions", and prmt. Register
// bits in, register bits out; signed variants say so.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace tessera::sim {

// The product of two N-bit numbers, twice as wide. T: int16_t ... uint64_t.
int32_t wider(int16_t);
uint32_t wider(uint16_t);
int64_t wider(int32_t);
uint64_t wider(uint32_t);
__int128 wider(int64_t);
unsigned __int128 wider(uint64_t);
template <class T>
using Wider = decltype(wider(T()));

// mul.lo, mul.hi, mul.wide; mad is the same with an addition that wraps.
template <class T>
T mulLo(T a, T b) {
  using U = std::make_unsigned_t<T>;
  // Through 64 bits, so that 16-bit operands are not promoted to int.
  return static_cast<T>(
      static_cast<U>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
}
template <class T>
T mulHi(T a, T b) {
  using W = Wider<T>;
  return static_cast<T>((static_cast<W>(a) * static_cast<W>(b)) >>
                        (8 * sizeof(T)));
}
template <class T>
Wider<T> mulWide(T a, T b) {
  using W = Wider<T>;
  return static_cast<W>(a) * static_cast<W>(b);
}
template <class T>
T wrapAdd(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T wrapSub(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// add.sat.s32, sub.sat.s32, mad.hi.sat.s32
inline int32_t saturateS32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

// mul24/mad24: 48-bit product of the low 24 bits; .hi is
// bits 47..16, .lo bits 31..0.
template <bool Signed, bool High>
uint32_t mul24(uint32_t a, uint32_t b) {
  int64_t x, y;
  if constexpr (Signed) {
    x = static_cast<int32_t>(a << 8) >> 8;
    y = static_cast<int32_t>(b << 8) >> 8;
  } else {
    x = a & 0xffffff;
    y = b & 0xffffff;
  }
  return static_cast<uint32_t>((x * y) >> (High ? 16 : 0));
}

// sad: c + |a - b|
template <class T>
T sumAbsDifference(T a, T b, T c) {
  return wrapAdd<T>(c, a < b ? wrapSub<T>(b, a) : wrapSub<T>(a, b));
}

// div, rem: towards zero. Division by zero gives all ones
// and rem the dividend ("unspecified, machine-specific"); the machine may
// report it. MIN / -1 wraps.
template <class T>
T divInt(T a, T b) {
  if (b == 0)
    return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return wrapSub<T>(0, a);
  return static_cast<T>(a / b);
}
template <class T>
T remInt(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return static_cast<T>(a % b);
}

// abs, neg: MIN stays MIN.
template <class T>
T absInt(T a) {
  return a < 0 ? wrapSub<T>(0, a) : a;
}
template <class T>
T negInt(T a) {
  return wrapSub<T>(0, a);
}
template <class T>
T minInt(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T maxInt(T a, T b) {
  return a > b ? a : b;
}
// .relu of min/max.s32 and .s16x2: the result is at least 0.
template <class T>
T reluInt(T a) {
  return a < 0 ? T{0} : a;
}

// popc, clz, brev, bfind, fns, bfe, bfi, szext, bmsk.
inline uint32_t popc(uint32_t a) {
  return static_cast<uint32_t>(std::popcount(a));
}
inline uint32_t popc(uint64_t a) {
  return static_cast<uint32_t>(std::popcount(a));
}
inline uint32_t clz(uint32_t a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
inline uint32_t clz(uint64_t a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
inline uint32_t brev(uint32_t a) {
  a = (a & 0x55555555) << 1 | ((a >> 1) & 0x55555555);
  a = (a & 0x33333333) << 2 | ((a >> 2) & 0x33333333);
  a = (a & 0x0f0f0f0f) << 4 | ((a >> 4) & 0x0f0f0f0f);
  a = (a & 0x00ff00ff) << 8 | ((a >> 8) & 0x00ff00ff);
  return a << 16 | a >> 16;
}
inline uint64_t brev(uint64_t a) {
  return static_cast<uint64_t>(brev(static_cast<uint32_t>(a))) << 32 |
         brev(static_cast<uint32_t>(a >> 32));
}

// The highest bit that differs from the sign (signed) or is one; ~0 when there
// is none. .shiftamt: the shift that moves it to the top.
template <class T>
uint32_t bfind(T a, bool shiftAmount) {
  using U = std::make_unsigned_t<T>;
  U bits = static_cast<U>(a);
  if constexpr (std::is_signed_v<T>)
    bits = a < 0 ? static_cast<U>(~bits) : bits;
  if (bits == 0)
    return ~0u;
  uint32_t zeros = static_cast<uint32_t>(std::countl_zero(bits));
  return shiftAmount ? zeros : static_cast<uint32_t>(8 * sizeof(T) - 1) - zeros;
}

// fns: the position of the |offset|-th one from bit `base`, upwards
// when offset > 0, downwards when < 0; offset 0 asks for bit `base` itself.
inline uint32_t findNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0)
    return base < 32 && ((mask >> base) & 1) ? base : ~0u;
  int step = offset > 0 ? 1 : -1;
  int64_t left = offset > 0 ? offset : -static_cast<int64_t>(offset);
  for (int64_t bit = base; bit >= 0 && bit < 32; bit += step)
    if (((mask >> bit) & 1) && --left == 0)
      return static_cast<uint32_t>(bit);
  return ~0u;
}

// bfe: `length` bits from `start`, filled up with zeros, or for
// signed types with the bit at min(start + length - 1, msb). Only the low 8
// bits of start and length count.
template <class T>
T bitFieldExtract(T a, uint32_t start, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t Width = 8 * sizeof(T);
  start &= 0xff;
  length &= 0xff;
  if (length == 0)
    return 0;
  uint32_t top = std::min(start + length - 1, Width - 1);
  U fill = 0;
  if constexpr (std::is_signed_v<T>)
    fill = (static_cast<U>(a) >> top) & 1 ? ~U{0} : U{0};
  U field = start < Width ? static_cast<U>(a) >> start : U{0};
  uint32_t taken = start < Width ? std::min(length, Width - start) : 0;
  U mask = taken >= Width ? ~U{0} : (U{1} << taken) - 1;
  return static_cast<T>((field & mask) | (fill & ~mask));
}

// bfi: the low `length` bits of a over b at `start`.
template <class U>
U bitFieldInsert(U a, U b, uint32_t start, uint32_t length) {
  constexpr uint32_t Width = 8 * sizeof(U);
  start &= 0xff;
  length &= 0xff;
  if (length == 0 || start >= Width)
    return b;
  uint32_t taken = std::min(length, Width - start);
  U mask = (taken >= Width ? ~U{0} : (U{1} << taken) - 1) << start;
  return (b & ~mask) | ((a << start) & mask);
}

// szext: keeps b's number of low bits, sign- or zero-extended. A
// width of 32 or more keeps all (.clamp) or counts modulo 32 (.wrap).
template <bool Signed, bool Clamp>
uint32_t szext(uint32_t a, uint32_t width) {
  if (Clamp && width >= 32)
    return a;
  width &= 31;
  if (width == 0)
    return 0;
  uint32_t mask = (1u << width) - 1;
  bool negative = Signed && ((a >> (width - 1)) & 1);
  return negative ? a | ~mask : a & mask;
}

// bmsk: b ones from bit a upwards.
template <bool Clamp>
uint32_t bitMask(uint32_t a, uint32_t b) {
  if constexpr (Clamp) {
    if (a >= 32)
      return 0;
    b = std::min(b, 32u);
  } else {
    a &= 31;
    b &= 31;
  }
  uint64_t ones = (uint64_t{1} << b) - 1;
  return static_cast<uint32_t>(ones << a);
}

// dp4a, dp2a: c plus the dot product of 4 bytes with 4
// bytes, or of 2 halves with 2 bytes (the upper two for .hi). Wraps.
template <bool SignedA, bool SignedB>
uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i) {
    uint32_t x = (a >> (8 * i)) & 0xff, y = (b >> (8 * i)) & 0xff;
    int32_t p = SignedA ? static_cast<int8_t>(x) : static_cast<int32_t>(x);
    int32_t q = SignedB ? static_cast<int8_t>(y) : static_cast<int32_t>(y);
    c += static_cast<uint32_t>(p * q);
  }
  return c;
}
template <bool SignedA, bool SignedB, bool High>
uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 2; ++i) {
    uint32_t x = (a >> (16 * i)) & 0xffff;
    uint32_t y = (b >> (8 * (i + (High ? 2 : 0)))) & 0xff;
    int64_t p = SignedA ? static_cast<int16_t>(x) : static_cast<int64_t>(x);
    int64_t q = SignedB ? static_cast<int8_t>(y) : static_cast<int64_t>(y);
    c += static_cast<uint32_t>(p * q);
  }
  return c;
}

// Extended precision: sums with a carry (or borrow) in and out; add.cc
// is carry in 0, add without .cc ignores the carry out. U: uint32_t, uint64_t.
template <class U>
U addCarry(U a, U b, bool in, bool &out) {
  U sum = static_cast<U>(a + b);
  bool carry = sum < a;
  U result = static_cast<U>(sum + in);
  out = carry || result < sum;
  return result;
}
template <class U>
U subBorrow(U a, U b, bool in, bool &out) {
  U result = static_cast<U>(a - b - in);
  out = a < b || (in && a == b);
  return result;
}

// Logic and shift. lop3: bit i of the table is the result for the input
// bits (a, b, c) = binary i.
inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t table) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    uint32_t ones = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    result |= (0u - ((table >> i) & 1u)) & ones;
  }
  return result;
}
inline uint32_t cnot(uint32_t a) { return a == 0; }

// shl, shr: amounts above the width clamp to it; T's sign says what shr fills
// in.
template <class U>
U shiftLeft(U a, uint32_t amount) {
  return amount >= 8 * sizeof(U) ? U{0} : static_cast<U>(a << amount);
}
template <class T>
T shiftRight(T a, uint32_t amount) {
  constexpr uint32_t Width = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> std::min(amount, Width - 1));
  else
    return amount >= Width ? T{0} : static_cast<T>(a >> amount);
}

// shf: the 64-bit number b:a shifted; .l keeps the upper, .r the
// lower 32 bits. .clamp stops at 32, .wrap counts modulo 32.
template <bool Left, bool Clamp>
uint32_t funnelShift(uint32_t a, uint32_t b, uint32_t amount) {
  amount = Clamp ? std::min(amount, 32u) : amount & 31;
  uint64_t pair = static_cast<uint64_t>(b) << 32 | a;
  return Left ? static_cast<uint32_t>((pair << amount) >> 32)
              : static_cast<uint32_t>(pair >> amount);
}

// prmt: bytes 0-3 are a, 4-7 are b. In the default mode a nibble of c
// selects a byte, its top bit replicates that byte's sign; the other modes take
// the low two bits of c only.
enum class Permute : uint8_t { Default, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

inline uint32_t permuteSelector(Permute mode, uint32_t c) {
  static constexpr uint16_t Selectors[7][4] = {
      {0, 0, 0, 0},
      {0x3210, 0x4321, 0x5432, 0x6543},
      {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333},
      {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210},
      {0x1010, 0x3232, 0x1010, 0x3232},
  };
  return mode == Permute::Default ? c
                                  : Selectors[static_cast<int>(mode)][c & 3];
}

inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t nibble = (selector >> (4 * i)) & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (nibble & 7))) & 0xff;
    uint32_t sign = byte & 0x80 ? 0xff : 0;
    result |= (nibble & 8 ? sign : byte) << (8 * i);
  }
  return result;
}

} // namespace tessera::sim
