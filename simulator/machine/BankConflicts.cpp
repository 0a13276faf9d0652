// simulator/machine/BankConflicts.cpp - counts the passes of an access to the
// banks of shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/BankConflicts.h"

#include "simulator/machine/Warp.h"

#include <algorithm>

namespace tessera::sim {

// Returns the number of lanes that are served in one pass if each accesses
// `words` words.
static uint32_t lanesTogether(uint32_t words) {
  return words >= 4 ? 8 : words == 2 ? 16 : 32;
}

uint32_t leastBankWays(uint32_t bytes, uint32_t mask) {
  uint32_t group = lanesTogether(bytes / 4), passes = 0;
  uint64_t all = (uint64_t{1} << group) - 1;
  for (uint32_t start = 0; start < Lanes; start += group)
    passes += (mask & all << start) != 0;
  return passes;
}

uint32_t bankWays(const uint32_t *address, uint32_t bytes, uint32_t mask) {
  uint32_t words = bytes <= 4 ? 1 : bytes / 4;
  uint32_t group = lanesTogether(words);
  uint32_t passes = 0;
  for (uint32_t start = 0; start < Lanes; start += group) {
    // Counts the different words of each bank; lanes with the same word share a
    // broadcast.
    uint32_t seen[32][8];
    uint8_t count[32] = {};
    uint32_t most = 0;
    for (uint32_t l = start; l < start + group; ++l) {
      if (!((mask >> l) & 1))
        continue;
      for (uint32_t k = 0; k < words; ++k) {
        uint32_t word = (address[l] >> 2) + k, bank = word & 31;
        uint32_t known = 0;
        while (known < std::min<uint32_t>(count[bank], 8) &&
               seen[bank][known] != word)
          ++known;
        if (known < std::min<uint32_t>(count[bank], 8))
          continue;
        if (count[bank] < 8)
          seen[bank][count[bank]] = word;
        most = std::max<uint32_t>(most, ++count[bank]);
      }
    }
    passes += most;
  }
  return passes;
}

} // namespace tessera::sim
