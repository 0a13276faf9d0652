// runtime/device/sim/SimKernel.h - kernels that run on a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"

namespace tessera::runtime {

// The simulator found a kernel to be wrong: the message is its report, with the
// line of the kernel's source.
class TESSERA_EXCEPTION KernelFault : public Error {
public:
  using Error::Error;
};

// Adds "sim:sm_80" and so on, one for each target.
void registerSimDevices();

// Reads the artifact's PTX once. Launches run on as many threads as kernels of
// the cpu do, with one in the order of the grid; those of one kernel one after
// another. Throws Error for an artifact without PTX, PTX that does not load,
// and parameters or shared memory that do not fit.
std::shared_ptr<LoadedKernel>
loadSimKernel(const LaunchDevice &device, const CompiledKernel &compiled,
              const std::string &kernel,
              const std::vector<std::string> &parameters);

} // namespace tessera::runtime
