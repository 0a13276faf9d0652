// runtime/device/cuda/CudaDevice.h - the devices of an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LaunchDevice.h"

namespace tessera::runtime {

// Registers "cuda", whose pointers are addresses of the first GPU and whose
// launches are enqueued on a stream, and "cuda:check", whose pointers are host
// addresses (CudaKernel.h).
void registerCudaDevices();

// Returns the device of one GPU of the process: "cuda" is number 0. Registers
// "cuda:1" and higher numbers on first use. Throws Error if the process does
// not have the GPU.
DeviceHandle cudaDevice(int ordinal);

// Returns the number of streaming multiprocessors of a GPU. Throws Error if the
// process does not have the GPU.
int multiprocessorCount(int ordinal);

// Loads a kernel into one GPU. Throws Error for an artifact that does not load
// or does not fit the parameters.
std::shared_ptr<LoadedKernel>
loadStreamKernel(const CompiledKernel &compiled, const std::string &kernel,
                 const std::vector<std::string> &parameters, int ordinal = 0);

} // namespace tessera::runtime
