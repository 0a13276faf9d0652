// tools/diff/PairLoops.h - which loop of one kernel is which of another.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <optional>
#include <vector>

namespace tessera::tools {

// Numbers in the two lists; none where the other side has no such loop.
struct LoopPair {
  std::optional<size_t> a, b;
};

// Loops as a report lists them ("lines": [46, 69], "instructions": {"mma": 40,
// "total": 386}), in the order of the code, which the pairs keep. The loops
// with the most tensor instructions are a pair; the others pair by source
// lines, instruction mix and size.
std::vector<LoopPair> pairLoops(const std::vector<Json> &a,
                                const std::vector<Json> &b);

// The loop with the most tensor instructions; none where no loop has any.
std::optional<size_t> mainLoop(const std::vector<Json> &loops);

} // namespace tessera::tools
