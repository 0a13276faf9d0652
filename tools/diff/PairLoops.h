// tools/diff/PairLoops.h - pairs the loops of two kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <optional>
#include <vector>

namespace tessera::tools {

// Indexes in the two lists; nullopt if the other side has no such loop.
struct LoopPair {
  std::optional<size_t> a, b;
};

// Pairs loops in a report's format ("lines": [46, 69], "instructions": {"mma":
// 40, "total": 386}), in the order of the code, which the pairs preserve. The
// loops with the most tensor instructions form a pair; the others are paired by
// source lines, instruction mix and size.
std::vector<LoopPair> pairLoops(const std::vector<Json> &a,
                                const std::vector<Json> &b);

// Returns the loop with the most tensor instructions, or nullopt if no loop has
// any.
std::optional<size_t> mainLoop(const std::vector<Json> &loops);

} // namespace tessera::tools
