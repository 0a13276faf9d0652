// trainer/Placement.cpp - where a run computes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Placement.h"

#include "support/Error.h"
#include "support/Options.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

/// Torch registers its CUDA kernels when this library is loaded; this program
/// is linked without it, since it also runs where there is no GPU.
void loadTorchCuda() {
  // Deterministic products need it, and cuBLAS reads it once.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  if (!::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL))
    throw Error(
        fmt::format("torch's CUDA library cannot be loaded: {}", ::dlerror()),
        "install a torch with CUDA, or set runtime.device=cpu");
}

c10::Device firstGpu() {
  if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA))
    loadTorchCuda();
  if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA) ||
      c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount() == 0)
    throw Error("runtime.device is cuda, but torch finds no GPU",
                "tessera doctor shows what is missing; runtime.device=cpu "
                "trains without one");
  return {c10::kCUDA, 0};
}

} // namespace

c10::Device placementOf(const Config &config) {
  const std::string chosen = optionText(Option::Device);
  const bool gpu = config.device == ComputeDevice::Cuda ||
                   (config.device == ComputeDevice::Auto && chosen == "cuda");
  if (config.device == ComputeDevice::Cpu && chosen != "cpu")
    throw Error(
        fmt::format("runtime.device is cpu, but TESSERA_DEVICE={}", chosen),
        "unset TESSERA_DEVICE, or set runtime.device=auto");
  if (!gpu)
    return c10::kCPU;
  if (chosen != "cpu" && chosen != "cuda")
    throw Error(
        fmt::format("runtime.device is cuda, but TESSERA_DEVICE={}", chosen),
        "unset TESSERA_DEVICE, or set runtime.device=auto");
  if (config.kernels == models::KernelSource::Torch)
    throw Error("kernels=torch computes on the CPU only, and the run is to "
                "compute on a GPU",
                "set kernels=tessera, or runtime.device=cpu");
  if (config.processes > 1)
    throw Error(fmt::format("a run of {} processes on GPUs is not built yet",
                            config.processes),
                "start one process, or set runtime.device=cpu");
  return firstGpu();
}

} // namespace tessera::trainer
