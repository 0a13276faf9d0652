// ops/attention/HeadSlices.h - splits head sizes into powers of two.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera::runtime {

inline int64_t nextPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power < value)
    power *= 2;
  return power;
}

// A head size split into one or two powers of two that cover it, 192 = 128 +
// 64. The tail is 0 if it would save nothing, else at least 16, the smallest
// tile of tensor cores.
struct HeadSlices {
  int64_t first, tail;
};
inline HeadSlices headSlices(int64_t size) {
  const int64_t whole = nextPowerOfTwo(size), half = whole / 2;
  const int64_t tail = std::max<int64_t>(16, nextPowerOfTwo(size - half));
  return size < whole && tail < half ? HeadSlices{half, tail}
                                     : HeadSlices{whole, 0};
}

} // namespace tessera::runtime
