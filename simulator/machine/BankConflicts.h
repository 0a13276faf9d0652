// simulator/machine/BankConflicts.h - how many passes an access to the banks of
// shared memory takes. The instructions in ops/ add the passes to the counters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::sim {

// Returns the number of passes of a warp's access of `bytes` per lane. In one
// pass each of 32 banks serves one 4-byte word. 8-byte accesses are split into
// halves of a warp, 16-byte accesses into quarters.
uint32_t bankWays(const uint32_t *address, uint32_t bytes, uint32_t mask);
// Returns the minimum number of passes of an access of this width by these
// lanes, for any addresses. Passes of bankWays() above it are bank conflicts.
uint32_t leastBankWays(uint32_t bytes, uint32_t mask);

} // namespace tessera::sim
