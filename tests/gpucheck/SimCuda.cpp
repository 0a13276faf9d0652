// tests/gpucheck/SimCuda.cpp - a driver whose GPU is the simulator: it runs
// PTX, checked, on memory of this process. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Cubins are for no GPU that it has, so the driver "compiles" the PTX. What the
// simulator finds is CUDA_ERROR_ILLEGAL_ADDRESS, after which, as with a real
// driver, nothing works any more in this process. SIM_CUDA: "none" (no device),
// "broken" (cuInit fails), "old" (cannot read the PTX), "noisy" (launches after
// the first write other bytes), "crash" (the second launch ends the process).
// SIM_CUDA_US: what a launch takes, in microseconds.
#include "runtime/sim/Sim.h"
#include "support/Error.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

using namespace tessera;

namespace {

constexpr int invalidValue = 1, outOfMemory = 2, noDevice = 100,
              noBinaryForGpu = 209, unsupportedPtx = 222, notFound = 500,
              illegalAddress = 700, unknown = 999;

struct LoadedModule {
  sim::Module module;
  std::map<std::string, std::pair<LoadedModule *, std::string>> functions = {};
};
using LoadedFunction = std::pair<LoadedModule *, std::string>;

std::map<char *, size_t> allocations;
int fault = 0, launches = 0;

bool is(const char *what) {
  const char *mode = std::getenv("SIM_CUDA");
  return mode && std::strcmp(mode, what) == 0;
}

char *addressOf(unsigned long long address) {
  return reinterpret_cast<char *>(address);
}

// The text up to its end: images carry no length.
bool isPtx(const char *image) {
  return std::strncmp(image, "//", 2) == 0 ||
         std::strncmp(image, ".version", 8) == 0;
}

sim::Memory allMemory() {
  sim::Memory memory;
  for (const auto &[address, bytes] : allocations)
    memory.add("device memory", static_cast<void *>(address), bytes);
  return memory;
}

void spoil(const std::vector<sim::Param> &params) {
  for (size_t i = params.size(); i-- > 0;) {
    uint64_t address = 0;
    if (params[i].bytes.size() == sizeof address)
      std::memcpy(&address, params[i].bytes.data(), sizeof address);
    for (const auto &[begin, bytes] : allocations)
      if (addressOf(address) >= begin && addressOf(address) < begin + bytes) {
        addressOf(address)[0] ^= 1;
        return;
      }
  }
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cuInit(unsigned) {
  return is("none") ? noDevice : is("broken") ? unknown : 0;
}
EXPORT int cuGetErrorName(int result, const char **text) {
  *text = result == illegalAddress   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == noBinaryForGpu ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                     : "CUDA_ERROR_UNKNOWN";
  return 0;
}
EXPORT int cuGetErrorString(int, const char **text) {
  *text = "words of the driver";
  return 0;
}
EXPORT int cuDriverGetVersion(int *version) {
  *version = is("old") ? 11040 : 13000;
  return 0;
}
EXPORT int cuDeviceGetCount(int *count) {
  *count = 1;
  return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}
EXPORT int cuDeviceGetName(char *name, int length, int) {
  std::snprintf(name, size_t(length), "Simulated GPU");
  return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  // Clock, multiprocessors, memory clock, bus, L2, capability: an H200's.
  static const std::map<int, int> values = {
      {13, 1'980'000}, {16, 132}, {36, 3'201'000}, {37, 6144},
      {38, 1 << 20},   {75, 9},   {76, 0}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return found == values.end() ? invalidValue : 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int) {
  static int one;
  *context = &one;
  return 0;
}
EXPORT int cuCtxSetCurrent(void *) { return fault; }
EXPORT int cuCtxSynchronize() { return fault; }
EXPORT int cuModuleLoadData(void **module, const void *image) {
  const char *text = static_cast<const char *>(image);
  if (fault)
    return fault;
  if (!isPtx(text))
    return noBinaryForGpu;
  if (is("old"))
    return unsupportedPtx;
  try {
    *module = new LoadedModule{sim::Module::load(text)};
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
EXPORT int cuModuleUnload(void *module) {
  delete static_cast<LoadedModule *>(module);
  return fault;
}
EXPORT int cuModuleGetFunction(void **function, void *module,
                               const char *name) {
  auto *loaded = static_cast<LoadedModule *>(module);
  for (const std::string &kernel : loaded->module.kernels())
    if (kernel == name) {
      *function = &(loaded->functions[name] = {loaded, name});
      return 0;
    }
  return notFound;
}
EXPORT int cuFuncSetAttribute(void *, int, int) { return fault; }
EXPORT int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY,
                          unsigned gridZ, unsigned blockX, unsigned blockY,
                          unsigned blockZ, unsigned sharedBytes, void *,
                          void **parameters, void **) {
  if (fault)
    return fault;
  if (++launches == 2 && is("crash"))
    std::abort();
  const auto &[loaded, kernel] = *static_cast<LoadedFunction *>(function);
  try {
    std::vector<sim::Param> params;
    for (const uint32_t bytes : loaded->module.parameterBytes(kernel)) {
      const auto *from =
          static_cast<const uint8_t *>(parameters[params.size()]);
      params.push_back({{from, from + bytes}});
    }
    const sim::Report report = loaded->module.launch(
        kernel, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes,
        params, allMemory(), {});
    if (!report.ok()) {
      std::fprintf(stderr, "%s\n", report.text().c_str());
      fault = illegalAddress; // at the next call that waits
    } else if (launches > 1 && is("noisy")) {
      spoil(params);
    }
    return 0;
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return invalidValue;
  }
}
EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  if (fault)
    return fault;
  char *memory =
      static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (!memory)
    return outOfMemory;
  allocations[memory] = bytes;
  *address = reinterpret_cast<unsigned long long>(memory);
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  allocations.erase(addressOf(address));
  std::free(addressOf(address));
  return fault;
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from,
                           size_t bytes) {
  if (!fault)
    std::memcpy(addressOf(to), from, bytes);
  return fault;
}
EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  if (!fault)
    std::memcpy(to, addressOf(from), bytes);
  return fault;
}
EXPORT int cuMemsetD8Async(unsigned long long address, unsigned char value,
                           size_t bytes, void *) {
  if (!fault)
    std::memset(addressOf(address), value, bytes);
  return fault;
}
EXPORT int cuEventCreate(void **event, unsigned) {
  static int one;
  *event = &one;
  return fault;
}
EXPORT int cuEventRecord(void *, void *) { return fault; }
EXPORT int cuEventSynchronize(void *) { return fault; }
EXPORT int cuEventElapsedTime(float *passed, void *, void *) {
  const char *us = std::getenv("SIM_CUDA_US");
  *passed = us ? float(std::atof(us) / 1000) : 0.25f;
  return fault;
}
EXPORT int cuEventDestroy_v2(void *) { return fault; }
