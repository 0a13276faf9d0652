// tools/inspect/Stalls.h - estimates how long a warp waits before each
// instruction, and why.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Listing.h"

#include <string>
#include <vector>

namespace tessera::tools {

struct Stall {
  double cycles = 0;  // before each execution of the instruction
  const char *reason; // "global memory"; "" where cycles are 0
};

// Returns an estimate for each instruction of the PTX. One warp, alone on its
// scheduler, executes each basic block in the order that minimizes waiting: the
// instruction whose operands are ready first is issued first, within the limits
// of registers, memory and barriers. Loops run a second time, with the
// operations that the first iteration left in flight. Latencies of global
// memory and rates of tensor cores come from autotune/model/devices.yaml for
// the target. The estimate excludes waits at barriers and for a cache, and
// latency hiding by other warps.
std::vector<Stall> estimateStalls(const ptx::Listing &ptx,
                                  const std::string &target);

} // namespace tessera::tools
