// ops/launch/TensorDevice.h - determines the device of a launch from its
// tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <optional>
#include <string_view>

namespace tessera::runtime {

// CUDA tensors run on their GPU, regardless of the default device. CPU tensors
// run on the default device.
class TensorDevice {
public:
  // Adds a tensor. Throws Error, naming the kernel, if it is on another device
  // than earlier tensors, or if the selected device (TESSERA_DEVICE) or every
  // device does not support its memory.
  void take(const at::Tensor &tensor, std::string_view kernel) {
    if (!device) [[unlikely]]
      settle(tensor, kernel);
    else if (tensor.device() != *device) [[unlikely]]
      refuse(tensor, kernel);
  }

  // Returns the device for LaunchOptions::device; empty for host memory, which
  // uses the default device.
  DeviceHandle handle() const;
  // Returns 0 for host memory, else the GPU's number plus one; part of launch
  // keys.
  uint64_t number() const {
    return device && device->is_cuda() ? 1 + uint64_t(device->index()) : 0;
  }

  // Calls launch(stream). The stream is the CUstream that is current in torch
  // for the GPU, which becomes the current device during the call; null for
  // host memory. Throws Error if the default device does not support host
  // memory.
  template <typename Launch>
  void run(std::string_view kernel, const Launch &launch) const {
    if (!number()) [[likely]] {
      requireHostMemory(kernel);
      return launch(nullptr);
    }
    const c10::DeviceGuard guard(*device);
    launch(currentStream());
  }

private:
  void settle(const at::Tensor &tensor, std::string_view kernel);
  [[noreturn]] void refuse(const at::Tensor &tensor,
                           std::string_view kernel) const;
  static void requireHostMemory(std::string_view kernel);
  void *currentStream() const;

  std::optional<c10::Device> device;
};

/// True if launches on this tensor use the CPU's kernels: it is in host memory,
/// the default device is the cpu, and no launches of another device are being
/// listed.
bool takesCpuKernels(const at::Tensor &tensor);

/// Returns the number of multiprocessors of the tensor's GPU; 0 for host
/// memory.
int64_t multiprocessorsOf(const at::Tensor &tensor);

} // namespace tessera::runtime
