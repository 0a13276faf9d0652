// trainer/loop/Random.h - a counter-based generator, without state.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::trainer {

/// Returns 64 random bits for (seed, index): splitmix64's finalizer over both.
/// A run can resume from an index because the generator has no state.
inline uint64_t randomBits(uint64_t seed, uint64_t index) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  for (uint64_t part : {index, index >> 32}) {
    x += part + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return x;
}

/// Returns a uniform number in [0, bound), the high half of a 128-bit product.
/// The bias is below bound / 2^64.
inline uint64_t randomBelow(uint64_t seed, uint64_t index, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return uint64_t((Wide(randomBits(seed, index)) * bound) >> 64);
}

/// Returns a uniform number in [0, 1).
inline double randomUnit(uint64_t seed, uint64_t index) {
  return double(randomBits(seed, index) >> 11) * 0x1p-53;
}

} // namespace tessera::trainer
