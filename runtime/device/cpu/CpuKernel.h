// runtime/device/cpu/CpuKernel.h - registers the device "cpu" and loads its
// kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LoadedKernel.h"

namespace tessera::runtime {

// Registers the device "cpu".
void registerCpuDevice();

// Throws Error.
std::shared_ptr<LoadedKernel>
loadCpuKernel(const CompiledKernel &compiled, const std::string &kernel,
              const std::vector<std::string> &parameters);

} // namespace tessera::runtime
