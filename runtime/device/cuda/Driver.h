// runtime/device/cuda/Driver.h - NVIDIA's driver, loaded on first use of a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tessera::runtime::cuda {

// Types of the CUDA driver API (CUDA Driver API reference, "Data types").
using Result = int;
using Device = int;
using Address = unsigned long long;
using Context = struct ContextObject *;
using Module = struct ModuleObject *;
using Function = struct FunctionObject *;
using Stream = struct StreamObject *;
using Event = struct EventObject *;

// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX = 1, gridY = 1, gridZ = 1;
  unsigned blockX = 1, blockY = 1, blockZ = 1;
  unsigned sharedBytes = 0;
  Stream stream = nullptr;
  void *attributes = nullptr;
  unsigned attributeCount = 0;
};

// The driver functions in use, named without the prefix "cu".
struct Api {
  Result (*Init)(unsigned flags);
  Result (*GetErrorName)(Result, const char **);
  Result (*GetErrorString)(Result, const char **);
  Result (*DriverGetVersion)(int *);
  Result (*DeviceGetCount)(int *);
  Result (*DeviceGet)(Device *, int ordinal);
  Result (*DeviceGetName)(char *, int length, Device);
  Result (*DeviceGetAttribute)(int *, int attribute, Device);
  Result (*DevicePrimaryCtxRetain)(Context *, Device);
  Result (*CtxSetCurrent)(Context);
  Result (*CtxSynchronize)();
  Result (*StreamSynchronize)(Stream);
  Result (*StreamIsCapturing)(Stream, int *status);
  Result (*ModuleLoadData)(Module *, const void *image);
  Result (*ModuleLoadDataEx)(Module *, const void *image, unsigned options,
                             int *names, void **values);
  Result (*ModuleUnload)(Module);
  Result (*ModuleGetFunction)(Function *, Module, const char *name);
  Result (*FuncSetAttribute)(Function, int attribute, int value);
  Result (*LaunchKernel)(Function, unsigned gridX, unsigned gridY,
                         unsigned gridZ, unsigned blockX, unsigned blockY,
                         unsigned blockZ, unsigned sharedBytes, Stream,
                         void **parameters, void **extra);
  // Null in drivers before CUDA 11.8.
  Result (*LaunchKernelEx)(const LaunchConfig *, Function, void **parameters,
                           void **extra);
  Result (*MemAlloc)(Address *, size_t);
  Result (*MemFree)(Address);
  Result (*MemcpyHtoD)(Address, const void *, size_t);
  Result (*MemcpyDtoH)(void *, Address, size_t);
  Result (*MemsetD8Async)(Address, unsigned char, size_t, Stream);
  Result (*EventCreate)(Event *, unsigned flags);
  Result (*EventRecord)(Event, Stream);
  Result (*EventSynchronize)(Event);
  Result (*EventElapsedTime)(float *, Event, Event);
  Result (*EventDestroy)(Event);
};

// Thrown if the process does not have a usable GPU: no GPU, no driver, or a
// driver that is too old.
class TESSERA_EXCEPTION NoGpu : public Error {
public:
  using Error::Error;
};

// The driver and one GPU of the process (CUDA_VISIBLE_DEVICES selects the
// GPUs). It uses the GPU's primary context, like torch.
class Driver {
public:
  // Returns the instance of a GPU, created on first use and kept. Throws NoGpu,
  // and Error for a driver that is broken or too old.
  static Driver &instance(int ordinal = 0);

  int ordinal() const { return number; }

  const Api &api() const { return functions; }
  const std::string &gpu() const { return name; }
  int version() const { return driverVersion; }        // 12080: 12.8
  int computeCapability() const { return capability; } // 90
  // Returns the best target for this GPU: of the same major version if one
  // exists, else an older one, whose PTX the driver compiles.
  const std::string &target() const { return bestTarget; }
  // Returns a CUdevice_attribute by its number; 0 if the driver does not report
  // it.
  int attribute(int number) const;
  // False after a failed launch has made the context unusable.
  bool healthy() const;
  // Makes this GPU's context current in the calling thread. Throws Error.
  void use() const {
    if (const Result result = tryUse()) [[unlikely]]
      refuseUse(result);
  }
  Result tryUse() const { return functions.CtxSetCurrent(context); }
  // True if each launch is synchronous (CUDA_LAUNCH_BLOCKING), so that an error
  // is reported by the launch that caused it.
  bool blocking() const { return waits; }
  // Enqueues a launch on its stream. Old drivers use another function.
  Result launch(const LaunchConfig &config, Function function,
                void **parameters) const {
    if (functions.LaunchKernelEx) [[likely]]
      return functions.LaunchKernelEx(&config, function, parameters, nullptr);
    return functions.LaunchKernel(function, config.gridX, config.gridY,
                                  config.gridZ, config.blockX, config.blockY,
                                  config.blockZ, config.sharedBytes,
                                  config.stream, parameters, nullptr);
  }
  // Records a launch, for errors that appear later. The text is never freed.
  void launched(const std::string *kernel) const;
  const std::string *keepName(std::string kernel) const;
  // Throws Error with the driver's message if `result` is not 0. If a kernel
  // failed, the message lists the last launches.
  void check(Result result, const std::string &what) const;

private:
  explicit Driver(int ordinal);
  void loadFunctions();
  void open();
  void refuseUse(Result result) const;
  std::string lastLaunches(const std::string &what) const;

  const int number;
  const bool waits;
  mutable std::array<std::atomic<const std::string *>, 8> recent{};
  mutable std::atomic<size_t> recentCount{0};
  Api functions{};
  Context context = nullptr;
  Device device = 0;
  std::string name, bestTarget;
  int driverVersion = 0, capability = 0;
};

// Waits for the GPU. Returns nullopt if it works, else the driver's error with
// the last launches.
std::optional<Error> faultOf(int ordinal);

} // namespace tessera::runtime::cuda
