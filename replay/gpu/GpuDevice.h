// replay/gpu/GpuDevice.h - recorded launches on the machine's NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver does not work in a process that was forked after it started.
// Only the process that runs the launches opens the driver (IsolatedItems); the
// process that watches it calls gpuFacts() and gpuRequest() alone.
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

// {"gpu", "compute_capability", "driver", "driver_release", "target", "sms",
// "peaks"}. Opens the driver in this process. Throws NoGpu, and Error for a
// driver that is broken.
Json describeGpu();
// The same, or {"none": WHY} without a GPU.
Json describeGpuOrNone();
// The facts of describeGpu() from a process that ends. Throws likewise.
Json gpuFacts();
// Throws NoGpu for {"none": WHY}.
void requireGpu(const Json &facts);

// "580.159.04", the release of NVIDIA's kernel module; empty without one.
std::string driverRelease();
// {"clock_sm_mhz", "clock_memory_mhz", "clock_sm_most_mhz", "power_watts",
// "power_limit_watts", "temperature_celsius", "other_processes"} as nvidia-smi
// tells; nulls where there is none.
Json gpuState(int ordinal = 0);

// The request for the code of a launch on a GPU, with a cubin where there is a
// ptxas.
language::CompileRequest gpuRequest(const PreparedLaunch &launch,
                                    const std::string &target,
                                    const Grid &grid);

// Loads the code of the launch and binds it to the memory of the arguments.
// Throws Error.
std::unique_ptr<runtime::CudaLaunch>
bindOnGpu(const LoadedCase &loaded, const PreparedLaunch &launch,
          const Grid &grid, const std::vector<ArgumentMemory> &memory);

// Runs PreparedLaunch::code on copies of the memory between zones of known
// bytes.
class GpuDevice : public Device {
public:
  // `target`: what compile() compiles for; empty: launches bring their code.
  // `repeated`: how many more launches must write the same bytes, unless the
  // case is not deterministic.
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
