// runtime/device/cuda/CudaDevice.h - the devices of an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LaunchDevice.h"

namespace tessera::runtime {

// Adds "cuda", whose pointers are the first GPU's and whose launches are put on
// a stream, and "cuda:check", whose pointers are the host's (CudaKernel.h).
void registerCudaDevices();

// The device of one GPU of the process: "cuda" is number 0; "cuda:1" and on are
// registered when they are first asked for. Throws Error where there is none.
DeviceHandle cudaDevice(int ordinal);

// Returns how many streaming multiprocessors the GPU has. Throws Error where
// there is none.
int multiprocessorCount(int ordinal);

// A kernel of the device of one GPU. Throws Error for an artifact that does not
// load or fit.
std::shared_ptr<LoadedKernel>
loadStreamKernel(const CompiledKernel &compiled, const std::string &kernel,
                 const std::vector<std::string> &parameters, int ordinal = 0);

} // namespace tessera::runtime
