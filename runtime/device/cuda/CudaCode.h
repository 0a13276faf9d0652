// runtime/device/cuda/CudaCode.h - an artifact in the memory of a GPU.
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
  // Into the memory of one GPU. Loads the cubin, or where it is empty or for
  // another GPU, has the driver compile the PTX. Throws Error for an artifact
  // that does not load or fit.
  CudaCode(const CompiledKernel &compiled, const std::string &kernel,
           const std::vector<std::string> &parameters, int ordinal = 0);
  CudaCode(const CudaCode &) = delete;
  ~CudaCode();

  // Puts a launch on the stream. `parameters`: the address of each value.
  // Throws Error with the driver's words.
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

  // What errors call it: "`add` (BM=64 num_warps=4; add.py)". Before the first
  // launch.
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
