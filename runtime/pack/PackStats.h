// runtime/pack/PackStats.h - counts the code that a process takes from a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::runtime {

struct PackStats {
  uint64_t packed = 0;  // specializations from the pack of TESSERA_PACK
  uint64_t misses = 0;  // that this pack lacks
  uint64_t workers = 0; // compiler processes started
};
PackStats packStats();

} // namespace tessera::runtime
