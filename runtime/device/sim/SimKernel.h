// runtime/device/sim/SimKernel.h - kernels that run on a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"

namespace tessera::runtime {

// Thrown if the simulator detects an error in a kernel. The message is the
// simulator's report, with the line of the kernel's source.
class TESSERA_EXCEPTION KernelFault : public Error {
public:
  using Error::Error;
};

// Registers a device for each target: "sim:sm_80" and so on.
void registerSimDevices();

// Loads a kernel from an artifact's PTX. A launch uses as many threads as a cpu
// kernel; with one thread it runs programs in grid order. Launches of one
// kernel run one after another. Throws Error for an artifact without PTX, PTX
// that does not load, and parameters or shared memory that do not fit.
std::shared_ptr<LoadedKernel>
loadSimKernel(const LaunchDevice &device, const CompiledKernel &compiled,
              const std::string &kernel,
              const std::vector<std::string> &parameters);

} // namespace tessera::runtime
