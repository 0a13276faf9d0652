// runtime/device/cuda/CudaKernel.h - kernels that run on an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/launch/LoadedKernel.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

// A kernel with its grid and arguments. The arguments are copied to GPU memory
// between guard zones of known bytes. The host memory of the pointers must
// outlive the launch. All methods throw Error with the driver's message.
class CudaLaunch {
public:
  virtual ~CudaLaunch() = default;
  // Restores the contents that host memory had when the launch was created.
  virtual void reset() = 0;
  virtual void run() = 0;   // waits for the GPU
  virtual void fetch() = 0; // copies GPU memory to the host
  // Returns the first difference between GPU memory and the last fetch(): "`O`
  // at byte 64". Returns an empty string if they are equal.
  virtual std::string difference() = 0;
  // Returns where a kernel wrote outside of its arguments, or an empty string.
  virtual std::string damage() = 0;
  // Returns the milliseconds of one launch, measured with CUDA events. With
  // `flush`, clears the L2 cache first.
  virtual double time(const cuda::CacheFlush *flush) = 0;
};

// A kernel of the device "cuda:check", which checks code and is slow. Arguments
// are host memory: a launch copies the accessible memory to the GPU and back.
class CudaKernel : public LoadedKernel,
                   public std::enable_shared_from_this<CudaKernel> {
public:
  virtual std::unique_ptr<CudaLaunch> bind(const Grid &grid,
                                           std::span<const Arg> args) = 0;
  // Returns the milliseconds of each of `repeats` consecutive launches on the
  // same arguments, without copies. Discards the results. Throws Error.
  std::vector<double> time(const Grid &grid, const std::vector<Arg> &args,
                           uint32_t repeats);
};

// Loads the cubin. If the cubin is empty or was compiled for another GPU, the
// driver compiles the PTX. `appended` is the number of null pointers after the
// arguments (scratch memory in other compilers' kernels). Throws Error for an
// artifact that does not load or does not fit the parameters.
std::shared_ptr<CudaKernel>
loadCudaKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters,
               uint32_t appended = 0);

} // namespace tessera::runtime
