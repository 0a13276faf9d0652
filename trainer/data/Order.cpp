// trainer/data/Order.cpp - computes random, shuffled and sequential order from
// a counter.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Order.h"

#include "trainer/loop/Random.h"
#include "trainer/settings/Config.h"

namespace tessera::trainer {
namespace {

/// Applies four rounds of a balanced Feistel network to a number of 2 * `half`
/// bits. The network is a bijection for every round function.
uint64_t feistel(uint64_t value, unsigned half, uint64_t seed) {
  const uint64_t mask = (uint64_t(1) << half) - 1;
  uint64_t left = value >> half, right = value & mask;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t next = left ^ (randomBits(seed + round, right) & mask);
    left = right;
    right = next;
  }
  return left << half | right;
}

} // namespace

uint64_t permuted(uint64_t index, uint64_t count, uint64_t seed) {
  unsigned half = 1;
  while (half < 31 && (uint64_t(1) << 2 * half) < count)
    ++half;
  // The network permutes a range of up to 4 * count numbers. Cycle walking
  // applies it again until the result is below `count`, which is also a
  // permutation.
  do
    index = feistel(index, half, seed);
  while (index >= count);
  return index;
}

WindowOrder::WindowOrder(DataOrder order, uint64_t seed, int64_t size,
                         int64_t length)
    : order(order), seed(seed), size(size), length(length) {}

int64_t WindowOrder::start(int64_t index) const {
  if (order == DataOrder::Random)
    return int64_t(randomBelow(seed, uint64_t(index), uint64_t(size - length)));
  const int64_t windows = windowsPerPass();
  const int64_t pass = index / windows, inside = index % windows;
  if (order == DataOrder::Sequential)
    return inside * length;
  return int64_t(permuted(uint64_t(inside), uint64_t(windows),
                          randomBits(seed, uint64_t(pass)))) *
         length;
}

} // namespace tessera::trainer
