// replay/gpu/GpuDevice.h - runs recorded launches on this machine's NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver does not work in a process that was forked after the driver
// started. So only the process that runs the launches opens the driver
// (IsolatedItems); the process that watches it may only call gpuFacts() and
// gpuRequest().
#pragma once

#include "language/Request.h"
#include "replay/Device.h"
#include "runtime/device/cuda/CudaKernel.h"
#include "support/Json.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cases {

// Returns {"gpu", "compute_capability", "driver", "driver_release", "target",
// "sms", "peaks"}. Opens the driver in this process. Throws NoGpu, and Error
// for a broken driver.
Json describeGpu();
// Returns the same, or {"none": WHY} without a GPU.
Json describeGpuOrNone();
// Returns describeGpu() of a temporary process. Throws likewise.
Json gpuFacts();
// Throws NoGpu for {"none": WHY}.
void requireGpu(const Json &facts);

// Returns the release of NVIDIA's kernel module, "580.159.04", or an empty
// string without one.
std::string driverRelease();
// Returns {"clock_sm_mhz", "clock_memory_mhz", "clock_sm_most_mhz",
// "power_watts", "power_limit_watts", "temperature_celsius", "other_processes"}
// from nvidia-smi; unknown values are null.
Json gpuState(int ordinal = 0);

// Returns the request for the code of a launch on a GPU, with a cubin if ptxas
// is available.
language::CompileRequest gpuRequest(const PreparedLaunch &launch,
                                    const std::string &target,
                                    const Grid &grid);

// Loads the code of the launch and binds it to the memory of the arguments.
// Throws Error.
std::unique_ptr<runtime::CudaLaunch>
bindOnGpu(const LoadedCase &loaded, const PreparedLaunch &launch,
          const Grid &grid, const std::vector<ArgumentMemory> &memory);

// Runs PreparedLaunch::code on copies of the memory between guard zones.
class GpuDevice : public Device {
public:
  // `target`: the target of compile(); empty: launches contain their code.
  // `repeated`: number of additional launches that must write the same bytes,
  // unless the case is nondeterministic.
  explicit GpuDevice(std::string target, uint32_t repeated = 0)
      : target(std::move(target)), repeated(repeated) {}

  std::string name() const override { return "cuda"; }
  bool reusable() const override;
  void compile(const std::vector<const PreparedLaunch *> &launches) override;
  void compileOne(PreparedLaunch &launch, const Grid &grid) override;
  void run(const LoadedCase &loaded, const PreparedLaunch &launch,
           const std::vector<ArgumentMemory> &memory, bool serial) override;

private:
  const std::string target;
  const uint32_t repeated;
};

} // namespace tessera::cases
