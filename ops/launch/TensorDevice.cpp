// ops/launch/TensorDevice.cpp - chooses the device of a launch: the device of
// its tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/TensorDevice.h"

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/ArgumentError.h"
#include "support/Options.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace tessera::runtime {

static std::string given(const at::Tensor &tensor, std::string_view kernel) {
  return "kernel " + std::string(kernel) + " was given a tensor on " +
         tensor.device().str();
}

void TensorDevice::settle(const at::Tensor &tensor, std::string_view kernel) {
  device = tensor.device();
  if (device->is_cpu()) [[likely]]
    return;
  if (!device->is_cuda())
    throw ArgumentError(
        given(tensor, kernel) + ", where no kernel runs",
        "move the tensors to the CPU with .cpu(), or to a GPU with "
        ".cuda()");
  // TESSERA_DEVICE=sim:sm_80 means that no launch may run on a GPU.
  const LaunchDevice &chosen = launchDevice({});
  if (chosen.hostMemory() && !chosen.isCpu())
    throw ArgumentError(
        given(tensor, kernel) + ", and the device " + chosen.name +
            " takes the host's memory",
        "unset TESSERA_DEVICE, or move the tensors to the CPU with "
        ".cpu()");
}

void TensorDevice::refuse(const at::Tensor &tensor,
                          std::string_view kernel) const {
  throw ArgumentError("kernel " + std::string(kernel) +
                          " was given tensors on " + device->str() +
                          " and on " + tensor.device().str(),
                      "move them to one device with .to()");
}

DeviceHandle TensorDevice::handle() const {
  return number() ? cudaDevice(device->index()) : DeviceHandle();
}

void TensorDevice::requireHostMemory(std::string_view kernel) {
  const LaunchDevice &chosen = launchDevice({});
  if (!chosen.hostMemory()) [[unlikely]]
    throw ArgumentError("kernel " + std::string(kernel) +
                            " was given tensors on the CPU, and the device " +
                            chosen.name + " takes memory of the GPU",
                        "move the tensors to the GPU with .cuda(), or "
                        "TESSERA_DEVICE=" +
                            hostMemoryDevice(chosen.name) +
                            " copies them at every launch, to check the code");
}

void *TensorDevice::currentStream() const {
  const c10::impl::VirtualGuardImpl gpus(c10::kCUDA);
  return gpus.getStreamNativeHandle(gpus.getStream(*device));
}

bool takesCpuKernels(const at::Tensor &tensor) {
  return tensor.is_cpu() && launchDevice({}).isCpu() &&
         optionText(Option::KernelsOf) != "gpu";
}

int64_t multiprocessorsOf(const at::Tensor &tensor) {
  if (!tensor.is_cuda())
    return 0;
  return multiprocessorCount(tensor.get_device());
}

} // namespace tessera::runtime
