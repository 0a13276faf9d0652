// replay/SimLaunch.h - a recorded launch made ready for the simulator.
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
// What our compiler is asked for the case's kernel on "sim:sm_80" or another
// simulated GPU; warps and stages are the recorded ones unless given. Throws
// Error.
language::CompileRequest
simRequest(const LoadedCase &loaded, const std::string &device,
           std::optional<int64_t> numWarps = std::nullopt,
           std::optional<int64_t> numStages = std::nullopt);
// What came of such a request, with the shared memory that it asks for.
SimLaunch simLaunchOf(const LoadedCase &loaded,
                      const std::vector<ArgumentMemory> &memory,
                      const runtime::CompiledKernel &compiled);
// Both at once.
SimLaunch compiledSimLaunch(const LoadedCase &loaded,
                            const std::vector<ArgumentMemory> &memory,
                            const std::string &device);

} // namespace tessera::cases
