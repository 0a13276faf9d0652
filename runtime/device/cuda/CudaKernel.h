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

// A kernel with its grid and arguments, whose memory is on the GPU between
// zones of known bytes. What its pointers mean is host memory that must outlive
// it. All throw Error with the driver's words.
class CudaLaunch {
public:
  virtual ~CudaLaunch() = default;
  // The contents that the host's memory had when the launch was made.
  virtual void reset() = 0;
  virtual void run() = 0;   // and waits
  virtual void fetch() = 0; // what is there now, into the host's memory
  // Empty, or where memory is not what fetch() gave: "`O` at byte 64".
  virtual std::string difference() = 0;
  // Empty, or where a kernel wrote beside its arguments.
  virtual std::string damage() = 0;
  // Milliseconds of one launch by CUDA events; `flush`: on a cleared cache.
  virtual double time(const cuda::CacheFlush *flush) = 0;
};

// The device "cuda:check". Arguments are host memory: a launch copies what its
// pointers may touch to the GPU and back. That is for checking code, not for
// speed.
class CudaKernel : public LoadedKernel,
                   public std::enable_shared_from_this<CudaKernel> {
public:
  virtual std::unique_ptr<CudaLaunch> bind(const Grid &grid,
                                           std::span<const Arg> args) = 0;
  // Milliseconds of `repeats` launches on the same arguments, one after the
  // other, copies apart. What the launches write is dropped. Throws Error.
  std::vector<double> time(const Grid &grid, const std::vector<Arg> &args,
                           uint32_t repeats);
};

// Loads the cubin, or where it is empty or for another GPU, has the driver
// compile the PTX. `appended`: null pointers after the arguments (other
// compilers' scratch memory). Throws Error for an artifact that does not load
// or fit.
std::shared_ptr<CudaKernel>
loadCudaKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters,
               uint32_t appended = 0);

} // namespace tessera::runtime
