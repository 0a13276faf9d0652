// runtime/device/cuda/Driver.h - NVIDIA's driver, loaded when a GPU is wanted.
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

// The functions that are used, by their names less "cu".
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

// There is no GPU that serves: none at all, no driver, or one that is too old.
class TESSERA_EXCEPTION NoGpu : public Error {
public:
  using Error::Error;
};

// The driver with one GPU of the process (CUDA_VISIBLE_DEVICES chooses them),
// whose primary context is torch's, too.
class Driver {
public:
  // Made at the first use of that GPU and kept. Throws NoGpu, and Error for a
  // driver that is broken or too old.
  static Driver &instance(int ordinal = 0);

  int ordinal() const { return number; }

  const Api &api() const { return functions; }
  const std::string &gpu() const { return name; }
  int version() const { return driverVersion; }        // 12080: 12.8
  int computeCapability() const { return capability; } // 90
  // The target whose code runs here: of the same major version where there is
  // one, else an older one, whose PTX the driver compiles.
  const std::string &target() const { return bestTarget; }
  // CUdevice_attribute by its number; 0 where the driver does not say.
  int attribute(int number) const;
  // False once a launch has failed in a way that leaves the context useless.
  bool healthy() const;
  // Makes the GPU that of the calling thread. Throws Error.
  void use() const {
    if (const Result result = tryUse()) [[unlikely]]
      refuseUse(result);
  }
  Result tryUse() const { return functions.CtxSetCurrent(context); }
  // Whether every launch is waited for (CUDA_LAUNCH_BLOCKING), so that an error
  // comes from its own launch.
  bool blocking() const { return waits; }
  // Puts a launch on its stream; an old driver has another function for it.
  Result launch(const LaunchConfig &config, Function function,
                void **parameters) const {
    if (functions.LaunchKernelEx) [[likely]]
      return functions.LaunchKernelEx(&config, function, parameters, nullptr);
    return functions.LaunchKernel(function, config.gridX, config.gridY,
                                  config.gridZ, config.blockX, config.blockY,
                                  config.blockZ, config.sharedBytes,
                                  config.stream, parameters, nullptr);
  }
  // Notes a launch for errors that show later; the text lives for ever.
  void launched(const std::string *kernel) const;
  const std::string *keepName(std::string kernel) const;
  // Throws Error with the driver's words for a result that is not 0; where a
  // kernel failed, with the last launches.
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

// Waits for the GPU. The driver's error where this process cannot use it, with
// the last launches on it; none where it works.
std::optional<Error> faultOf(int ordinal);

} // namespace tessera::runtime::cuda
