// replay/GpuLaunch.h - compiles a launch for a simulated GPU and reports the SM
// resources that its code uses.
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
  uint32_t registers = 0;    // per thread, from ptxas; 0: unknown
  uint32_t spilledBytes = 0; // per thread, stores
};

// Compiles a launch for `options.device`, a simulated GPU. The memory of the
// pointers among `args`, with their sizes, must outlive the result. Throws
// Error.
GpuLaunch gpuLaunch(const Kernel &kernel, const std::vector<Arg> &args,
                    const Constexprs &constexprs, const LaunchOptions &options,
                    const Grid &grid);

// Compiles the code of these launches with these grids in parallel. gpuLaunch()
// reports failures.
void compileGpuLaunches(
    const std::vector<std::pair<const PreparedLaunch *, Grid>> &launches);

} // namespace tessera::cases
