// trainer/data/Order.h - the order of the windows of the data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::trainer {

enum class DataOrder : int;

/// The image of `index` under a permutation of 0 .. count-1 that depends on
/// `seed` alone; nothing is stored, whatever the count (up to 2^62).
uint64_t permuted(uint64_t index, uint64_t count, uint64_t seed);

/// Windows of `length` + 1 tokens over a row of `size` tokens; number i is a
/// function of the seed and i, so a position is one number, and processes that
/// take different numbers never share a window by accident.
class WindowOrder {
public:
  WindowOrder(DataOrder order, uint64_t seed, int64_t size, int64_t length);

  /// First token of window number `index`.
  int64_t start(int64_t index) const;
  /// Windows that do not overlap, as one pass in order or shuffled has.
  int64_t windowsPerPass() const { return (size - 1) / length; }

private:
  DataOrder order;
  uint64_t seed;
  int64_t size, length;
};

} // namespace tessera::trainer
