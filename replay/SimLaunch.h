// replay/SimLaunch.h - prepares a recorded launch for the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "replay/Buffer.h"
#include "replay/Device.h"
#include "simulator/Sim.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {
struct CompiledKernel;
} // namespace tessera::runtime

namespace tessera::cases {

// The pointer arguments of a case with their contents before the launch.
struct CaseMemory {
  std::vector<GuardedBuffer> buffers;
  std::vector<ArgumentMemory> arguments;
};
CaseMemory fillMemory(const LoadedCase &loaded);

// The arguments of sim::Module::launch(). The memory must outlive it.
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

// Loads PTX for a case. `ptx`: a file, or its name in the case's folder. PTX
// does not contain the size of dynamic shared memory, so the launch gets the
// maximum. Throws Error if the kernel's parameters do not fit the arguments.
SimLaunch simLaunch(const LoadedCase &loaded,
                    const std::vector<ArgumentMemory> &memory,
                    const std::filesystem::path &ptx);
// Returns the request to compile the case's kernel for "sim:sm_80" or another
// simulated GPU; warps and stages are the recorded ones unless given. Throws
// Error.
language::CompileRequest
simRequest(const LoadedCase &loaded, const std::string &device,
           std::optional<int64_t> numWarps = std::nullopt,
           std::optional<int64_t> numStages = std::nullopt);
// Returns the launch of such a request's code, with the shared memory that the
// code requires.
SimLaunch simLaunchOf(const LoadedCase &loaded,
                      const std::vector<ArgumentMemory> &memory,
                      const runtime::CompiledKernel &compiled);
// Compiles a case and returns its launch: simRequest() and simLaunchOf().
SimLaunch compiledSimLaunch(const LoadedCase &loaded,
                            const std::vector<ArgumentMemory> &memory,
                            const std::string &device);

} // namespace tessera::cases
