// runtime/device/cpu/CpuKernel.h - kernels that run on this processor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LoadedKernel.h"

namespace tessera::runtime {

// Adds the device "cpu".
void registerCpuDevice();

// Throws Error.
std::shared_ptr<LoadedKernel>
loadCpuKernel(const CompiledKernel &compiled, const std::string &kernel,
              const std::vector<std::string> &parameters);

} // namespace tessera::runtime
