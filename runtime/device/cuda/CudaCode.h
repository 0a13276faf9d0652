// runtime/device/cuda/CudaCode.h - an artifact loaded into the memory of a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "runtime/device/gpu/GpuArguments.h"
#include "runtime/launch/LoadedKernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime::cuda {

class CudaCode {
public:
  // Loads the cubin into one GPU. If the cubin is empty or was compiled for
  // another GPU, the driver compiles the PTX. Throws Error for an artifact that
  // does not load or does not fit the parameters.
  CudaCode(const CompiledKernel &compiled, const std::string &kernel,
           const std::vector<std::string> &parameters, int ordinal = 0);
  CudaCode(const CudaCode &) = delete;
  ~CudaCode();

  // Enqueues a launch on the stream. `parameters` holds the address of each
  // value. Throws Error with the driver's message.
  void start(const Grid &grid, void **parameters, Stream stream) const {
    const LaunchConfig config = {.gridX = grid[0],
                                 .gridY = grid[1],
                                 .gridZ = grid[2],
                                 .blockX = threads,
                                 .sharedBytes = sharedBytes,
                                 .stream = stream};
    if (const Result result = driver.launch(config, function, parameters))
        [[unlikely]]
      refuse(result);
    driver.launched(label);
    if (driver.blocking()) [[unlikely]]
      wait(stream);
  }

  // Sets the kernel's name in errors: "`add` (BM=64 num_warps=4; add.py)". Must
  // be called before the first launch.
  void describe(const std::string &configuration, const std::string &file);
  const std::string &text() const { return *label; }

  const Driver &driver;
  const std::string name;
  const GpuArguments arguments;

private:
  void load(const CompiledKernel &compiled);
  [[noreturn]] void refuse(Result result) const;
  void wait(Stream stream) const;

  const uint32_t threads, sharedBytes;
  const std::string *label;
  Module module = nullptr;
  Function function = nullptr;
};

} // namespace tessera::runtime::cuda
