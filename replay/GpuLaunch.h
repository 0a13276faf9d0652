// replay/GpuLaunch.h - a launch of our own code for a simulated GPU, and what
// the code takes of an SM.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/SimLaunch.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::cases {

struct GpuLaunch {
  SimLaunch launch;
  uint32_t registers = 0;    // of a thread, by ptxas; 0: there is none
  uint32_t spilledBytes = 0; // of a thread, stores
};

// Compiles for `options.device`, a simulated GPU. The memory of the pointers
// among `args`, with their sizes, must outlive the result. Throws Error.
GpuLaunch gpuLaunch(const Kernel &kernel, const std::vector<Arg> &args,
                    const Constexprs &constexprs, const LaunchOptions &options,
                    const Grid &grid);

// Compiles what the same launches with these grids need, in parallel. What does
// not compile is said by gpuLaunch().
void compileGpuLaunches(
    const std::vector<std::pair<const PreparedLaunch *, Grid>> &launches);

} // namespace tessera::cases
