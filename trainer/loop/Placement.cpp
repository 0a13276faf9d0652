// trainer/loop/Placement.cpp - chooses the device and loads torch's CUDA
// library.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Placement.h"

#include "support/Error.h"
#include "support/Options.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <utility>

namespace tessera::trainer {
namespace {

/// Loads the library that registers torch's CUDA kernels. The program is not
/// linked with it, because it also runs without a GPU.
void loadTorchCuda() {
  // Deterministic products need this variable, and cuBLAS reads it only once.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  if (!::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL))
    throw Error(
        fmt::format("torch's CUDA library cannot be loaded: {}", ::dlerror()),
        "install a torch with CUDA, or set runtime.device=cpu");
}

c10::Device gpuOf(const World &world) {
  if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA))
    loadTorchCuda();
  if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA) ||
      c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount() == 0)
    throw Error("runtime.device is cuda, but torch finds no GPU",
                "tessera doctor shows what is missing; runtime.device=cpu "
                "trains without one");
  const auto *guard = c10::impl::getDeviceGuardImpl(c10::kCUDA);
  const int64_t count = guard->deviceCount();
  if (world.localRank >= count)
    throw Error(fmt::format("process {} of the run is number {} of this "
                            "machine, where torch finds {} GPU{}",
                            world.rank, world.localRank, count,
                            count == 1 ? "" : "s"),
                "start a process for each GPU of a machine; where each process "
                "sees but its own (CUDA_VISIBLE_DEVICES), set LOCAL_RANK=0");
  const c10::Device device(c10::kCUDA, c10::DeviceIndex(world.localRank));
  guard->setDevice(device);
  return device;
}

} // namespace

c10::Device placementOf(const Config &config, const World &world) {
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
  return gpuOf(world);
}

std::string unusedGpuLine(const Config &config, c10::Device device,
                          const std::filesystem::path &devices) {
  std::error_code code;
  if (device.is_cpu() && config.device == ComputeDevice::Auto &&
      !std::getenv(optionInfo(Option::Device).name) &&
      std::filesystem::exists(devices / "nvidia0", code))
    return "this machine has an NVIDIA GPU, which the run does not use: "
           "runtime.device=cuda trains on it, runtime.device=cpu omits this "
           "line";
  return "";
}

void chooseNcclForPcie(const Config &config, c10::Device device) {
  if (!config.ncclForPcie)
    return;
  if (!device.is_cuda() || config.exchange == ExchangeBackend::Gloo)
    throw Error(fmt::format("runtime.nccl_pcie is true, but {}",
                            device.is_cuda() ? "runtime.ddp_backend is gloo"
                                             : "the run computes on the CPU"),
                "NCCL exchanges tensors of GPUs: set runtime.nccl_pcie=false");
  for (const auto &[name, value] :
       {std::pair("NCCL_ALGO", "Ring"), std::pair("NCCL_PROTO", "Simple"),
        std::pair("NCCL_IB_DISABLE", "1")})
    ::setenv(name, value, /*overwrite=*/0);
}

} // namespace tessera::trainer
