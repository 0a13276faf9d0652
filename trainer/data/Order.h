// trainer/data/Order.h - the order in which training reads the windows of the
// data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::trainer {

enum class DataOrder : int;

/// Returns the image of `index` under a permutation of 0 .. count-1 that
/// depends only on `seed`. Needs no memory, for any `count` up to 2^62.
uint64_t permuted(uint64_t index, uint64_t count, uint64_t seed);

/// Maps window numbers to windows of `length` + 1 tokens in a stream of `size`
/// tokens. A window depends only on the seed and its number, so a checkpoint
/// stores one number as the position. Within a pass, different numbers have
/// different windows, so processes never share one by accident.
/// DataOrder::Random has no passes: it draws each window independently.
class WindowOrder {
public:
  WindowOrder(DataOrder order, uint64_t seed, int64_t size, int64_t length);

  /// Returns the first token of window number `index`.
  int64_t start(int64_t index) const;
  /// Returns the number of non-overlapping windows: the length of one pass in
  /// sequential or shuffled order.
  int64_t windowsPerPass() const { return (size - 1) / length; }

private:
  DataOrder order;
  uint64_t seed;
  int64_t size, length;
};

} // namespace tessera::trainer
