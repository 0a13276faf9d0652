// tools/inspect/Stalls.h - for how long a warp waits before an instruction, and
// for what: an estimate.
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

// For each instruction of the PTX. One warp alone on its
// scheduler runs every block of instructions in the order that keeps it from
// waiting longest: whichever operand is there first goes first, as far as
// registers, memory and barriers allow. Loops are taken a second time, with
// what the first iteration left under way. Latencies of global memory and rates
// of tensor cores are those of autotune/model/devices.yaml for the target.
// Waits of warps for each other (barriers) and for a cache, and what other
// warps hide, are not in it.
std::vector<Stall> estimateStalls(const ptx::Listing &ptx,
                                  const std::string &target);

} // namespace tessera::tools
