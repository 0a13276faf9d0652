// tests/unit/simulator/arith/Second.h - the second source: rounding by search
// in 113 bits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Nothing here knows how the library rounds. A format's value is read off its
// definition; the result of a rounding is found by bisection over bit patterns,
// which are ordered like the numbers they stand for.
#pragma once

#include <cstdint>
#include <random>

namespace second {

using Wide = __float128;

enum class Round { Nearest, Zero, Down, Up, Away };

struct Format {
  int significand, exponent;
};
inline constexpr Format F16{10, 5}, Bf16{7, 8}, Tf32{10, 8}, F32{23, 8},
    F64{52, 11}, E5m2{2, 5};

inline Wide power(int exponent) {
  Wide result = 1;
  Wide factor = exponent < 0 ? Wide(0.5) : Wide(2);
  for (int left = exponent < 0 ? -exponent : exponent; left > 0; left >>= 1) {
    if (left & 1)
      result *= factor;
    factor *= factor;
  }
  return result;
}

inline uint64_t infinityBits(Format f) {
  return ((uint64_t{1} << f.exponent) - 1) << f.significand;
}

// The value of a non-negative pattern; infinity's pattern stands for the power
// of two that would follow the largest number.
inline Wide magnitude(Format f, uint64_t bits) {
  int bias = (1 << (f.exponent - 1)) - 1;
  auto field = static_cast<int>(bits >> f.significand);
  uint64_t fraction = bits & ((uint64_t{1} << f.significand) - 1);
  if (field == 0)
    return Wide(fraction) * power(1 - bias - f.significand);
  return Wide(fraction + (uint64_t{1} << f.significand)) *
         power(field - bias - f.significand);
}

// `value` rounded; the sign of a zero is `negativeZero`'s.
inline uint64_t round(Format f, Wide value, Round how,
                      bool negativeZero = false) {
  bool negative = value < 0 || (value == 0 && negativeZero);
  uint64_t sign = uint64_t{negative} << (f.significand + f.exponent);
  Wide size = value < 0 ? -value : value;
  uint64_t low = 0, high = infinityBits(f); // magnitude(low) <= size
  if (size >= magnitude(f, high))
    low = high - 1;
  else
    while (high - low > 1) {
      uint64_t middle = low + (high - low) / 2;
      (magnitude(f, middle) <= size ? low : high) = middle;
    }
  high = low + 1;
  Wide below = size - magnitude(f, low), above = magnitude(f, high) - size;
  bool up = false;
  if (below != 0 || above <= 0) {
    switch (how) {
    case Round::Nearest:
      up = below > above || (below == above && (low & 1));
      break;
    case Round::Away:
      up = below >= above;
      break;
    case Round::Zero:
      break;
    case Round::Down:
      up = negative;
      break;
    case Round::Up:
      up = !negative;
      break;
    }
  }
  return sign | (up ? high : low);
}

// Numbers that hit what matters: specials, ties, subnormals, close exponents.
class Bits {
public:
  explicit Bits(uint64_t seed) : engine(seed) {}
  uint64_t any() { return engine(); }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine() % n); }

  // Bits of a format: one in eight special, else exponents within `spread`
  // of 1.
  uint64_t number(Format f, int spread) {
    uint64_t sign = uint64_t{below(2)} << (f.significand + f.exponent);
    uint64_t fraction = any() & ((uint64_t{1} << f.significand) - 1);
    switch (below(24)) {
    case 0:
      return sign;
    case 1:
      return sign | infinityBits(f);
    case 2:
      return sign | infinityBits(f) | (fraction ? fraction : 1);
    case 3:
      return sign | fraction; // subnormal
    case 4:
      return sign | (infinityBits(f) - 1); // the largest
    case 5:
      return sign | (uint64_t{1} << f.significand);
    case 6:
      fraction = 0;
      break;
    case 7:
      fraction = uint64_t{1} << below(static_cast<uint32_t>(f.significand));
    default:
      break;
    }
    int bias = (1 << (f.exponent - 1)) - 1;
    int field = bias - spread + static_cast<int>(below(2u * spread + 1));
    int most = (1 << f.exponent) - 2;
    field = field < 0 ? 0 : field > most ? most : field;
    return sign | static_cast<uint64_t>(field) << f.significand | fraction;
  }

private:
  std::mt19937_64 engine;
};

} // namespace second
