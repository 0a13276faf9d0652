// ops/launch/TensorDevice.h - what runs a launch: the device of its tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <optional>
#include <string_view>

namespace tessera::runtime {

// CUDA tensors run on their GPU whatever the default device is, CPU tensors on
// the default device.
class TensorDevice {
public:
  // Throws Error, naming the kernel, for a tensor that is elsewhere than those
  // before, whose memory no device takes, or the chosen device (TESSERA_DEVICE)
  // does not.
  void take(const at::Tensor &tensor, std::string_view kernel) {
    if (!device) [[unlikely]]
      settle(tensor, kernel);
    else if (tensor.device() != *device) [[unlikely]]
      refuse(tensor, kernel);
  }

  // For LaunchOptions::device; none for host memory, which the default device
  // takes.
  DeviceHandle handle() const;
  // 0 for host memory, else the GPU's number plus one: part of launch keys.
  uint64_t number() const {
    return device && device->is_cuda() ? 1 + uint64_t(device->index()) : 0;
  }

  // Calls launch(stream), a CUstream: torch's current one of the GPU, which is
  // the current device meanwhile; null for host memory. Throws Error where the
  // default device takes no host memory.
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

/// Whether launches on this tensor take the kernels that are made for a CPU: it
/// lies in host memory, which the default device is, and no other device's
/// kernels are listed.
bool takesCpuKernels(const at::Tensor &tensor);

/// Multiprocessors of the tensor's GPU; 0 in host memory.
int64_t multiprocessorsOf(const at::Tensor &tensor);

} // namespace tessera::runtime
