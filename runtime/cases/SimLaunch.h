// runtime/cases/SimLaunch.h - a recorded launch made ready for the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cases/Buffer.h"
#include "runtime/cases/Device.h"
#include "runtime/sim/Sim.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::cases {

// The pointer arguments of a case, filled with what they held before it.
struct CaseMemory {
  std::vector<GuardedBuffer> buffers;
  std::vector<ArgumentMemory> arguments;
};
CaseMemory fillMemory(const LoadedCase &loaded);

// All that Module::launch() takes. The memory must outlive it.
struct SimLaunch {
  sim::Module module;
  std::string kernel = {};
  sim::Dim3 grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<sim::Param> params = {};
  sim::Memory memory = {};

  sim::Report run(const sim::Options &options) const {
    return module.launch(kernel, grid, block, dynamicShared, params, memory,
                         options);
  }
};

// `ptx`: a file, or its name in the case's folder. PTX does not say how much
// dynamic shared memory a kernel is launched with: it gets all there is. Throws
// Error when the kernel's parameters do not fit the arguments.
SimLaunch simLaunch(const LoadedCase &loaded,
                    const std::vector<ArgumentMemory> &memory,
                    const std::filesystem::path &ptx);
// What our compiler makes of the case's kernel for "sim:sm_80" or another
// simulated GPU, with the shared memory that it asks for. Throws Error.
SimLaunch compiledSimLaunch(const LoadedCase &loaded,
                            const std::vector<ArgumentMemory> &memory,
                            const std::string &device);

} // namespace tessera::cases
