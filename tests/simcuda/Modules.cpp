// tests/simcuda/Modules.cpp - code and launches of the simulated driver: it
// runs PTX, checked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Cubins are for no GPU that it has, so the driver "compiles" the PTX. What the
// simulator finds is CUDA_ERROR_ILLEGAL_ADDRESS, after which, as with a real
// driver, nothing works any more with that GPU in this process.
#include "simulator/Sim.h"
#include "support/Error.h"
#include "tests/simcuda/SimCuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace tessera;
using namespace simcuda;

namespace {

struct LoadedModule;
struct LoadedFunction {
  LoadedModule *module;
  std::string name;
};
struct LoadedModule {
  Gpu *gpu;
  sim::Module code;
  std::map<std::string, LoadedFunction> functions = {};
};

int launches = 0;

// The text up to its end: images carry no length.
bool isPtx(const char *image) {
  return std::strncmp(image, "//", 2) == 0 ||
         std::strncmp(image, ".version", 8) == 0;
}

sim::Memory memoryOf(const Gpu &gpu) {
  sim::Memory memory;
  for (const auto &[address, bytes] : gpu.allocations)
    memory.add("device memory", static_cast<void *>(address), bytes);
  return memory;
}

void spoil(const Gpu &gpu, const std::vector<sim::Param> &params) {
  for (size_t i = params.size(); i-- > 0;) {
    Address address = 0;
    if (params[i].bytes.size() == sizeof address)
      std::memcpy(&address, params[i].bytes.data(), sizeof address);
    for (const auto &[begin, bytes] : gpu.allocations)
      if (addressOf(address) >= begin && addressOf(address) < begin + bytes) {
        addressOf(address)[0] ^= 1;
        return;
      }
  }
}

struct Launch {
  const LoadedFunction *function;
  sim::Dim3 grid, block;
  uint32_t sharedBytes;
  std::vector<sim::Param> params;

  int run() const {
    Gpu &gpu = *function->module->gpu;
    if (!timesAreCounted())
      gpu.passed += microsecondsOf(function->name);
    count(function->name);
    const int wanted = injected(function->name);
    while (wanted == endless)
      ::pause();
    if (wanted)
      return wanted;
    const sim::Report report = function->module->code.launch(
        function->name, grid, block, sharedBytes, params, memoryOf(gpu), {});
    if (!report.ok()) {
      std::fprintf(stderr, "%s\n", report.text().c_str());
      return illegalAddress;
    }
    if (timesAreCounted()) // a thousand instructions of warps a microsecond
      gpu.passed += 1 + 1e-3 * double(report.counters.warpInstructions);
    if (launches > 1 && is("noisy"))
      spoil(gpu, params);
    return 0;
  }
};

} // namespace

EXPORT int cuModuleLoadData(void **module, const void *image) {
  const Call call("cuModuleLoadData", false);
  const char *text = static_cast<const char *>(image);
  if (call.result || !current())
    return call.result ? call.result : invalidContext;
  if (current()->fault)
    return current()->fault;
  if (!isPtx(text))
    return noBinaryForGpu;
  if (is("old"))
    return unsupportedPtx;
  try {
    *module = new LoadedModule{current(), sim::Module::load(text)};
    return 0;
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return noBinaryForGpu;
  }
}
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *,
                              void **) {
  return cuModuleLoadData(module, image);
}
EXPORT int cuModuleUnload(void *handle) {
  const Call call("cuModuleUnload");
  auto *module = static_cast<LoadedModule *>(handle);
  const int fault = drainAll(*module->gpu);
  delete module;
  return fault;
}
EXPORT int cuModuleGetFunction(void **function, void *handle,
                               const char *name) {
  const Call call("cuModuleGetFunction");
  auto *module = static_cast<LoadedModule *>(handle);
  for (const std::string &kernel : module->code.kernels())
    if (kernel == name) {
      *function = &(module->functions[name] = {module, name});
      return call.result;
    }
  return notFound;
}
EXPORT int cuFuncSetAttribute(void *, int, int) {
  const Call call("cuFuncSetAttribute");
  return call.result;
}
namespace {

struct LaunchConfig { // CUlaunchConfig
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void *stream, *attributes;
  unsigned attributeCount;
};

int launchOn(const Call &call, const LaunchConfig &config, void *handle,
             void **parameters, void **extra) {
  if (extra || config.attributeCount)
    return invalidValue;
  auto *function = static_cast<LoadedFunction *>(handle);
  Gpu *gpu = function->module->gpu;
  if (call.result || current() != gpu)
    return call.result ? call.result : invalidContext;
  if (gpu->of(config.stream).gpu != gpu)
    return invalidHandle;
  if (++launches == 2 && is("crash"))
    std::abort();
  if (is("idle")) {
    count(function->name);
    return 0;
  }
  try {
    Launch launch{function,
                  {config.gridX, config.gridY, config.gridZ},
                  {config.blockX, config.blockY, config.blockZ},
                  config.sharedBytes,
                  {}};
    for (const uint32_t bytes :
         function->module->code.parameterBytes(function->name)) {
      const auto *from =
          static_cast<const uint8_t *>(parameters[launch.params.size()]);
      launch.params.push_back({{from, from + bytes}});
    }
    return submit(gpu->of(config.stream), [launch] {
      try {
        return launch.run();
      } catch (const Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return int(invalidValue);
      }
    });
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return invalidValue;
  }
}

} // namespace

EXPORT int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY,
                          unsigned gridZ, unsigned blockX, unsigned blockY,
                          unsigned blockZ, unsigned sharedBytes, void *stream,
                          void **parameters, void **extra) {
  const Call call("cuLaunchKernel");
  return launchOn(call,
                  {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                   stream, nullptr, 0},
                  function, parameters, extra);
}
EXPORT int cuLaunchKernelEx(const LaunchConfig *config, void *function,
                            void **parameters, void **extra) {
  const Call call("cuLaunchKernelEx");
  return launchOn(call, *config, function, parameters, extra);
}
