// runtime/device/cuda/CudaKernel.h - kernels that run on an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LoadedKernel.h"

#include <cstdint>
#include <vector>

namespace tessera::runtime {

// Arguments are host memory: a launch copies what its pointers may touch to the
// GPU and back. That is for checking code, not for speed.
class CudaKernel : public LoadedKernel {
public:
  // Milliseconds of `repeats` launches on the same arguments, one after the
  // other, by CUDA events, copies apart. What the launches write is dropped.
  // Throws Error.
  virtual std::vector<double>
  time(const Grid &grid, const std::vector<Arg> &args, uint32_t repeats) = 0;
};

// Loads the cubin, or where it is empty or for another GPU, has the driver
// compile the PTX. Throws Error for an artifact that does not load or fit.
std::shared_ptr<CudaKernel>
loadCudaKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters);

} // namespace tessera::runtime
