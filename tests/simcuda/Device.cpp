// tests/simcuda/Device.cpp - GPUs, contexts, errors, counters of the simulated
// driver.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/simcuda/SimCuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>

namespace simcuda {

namespace {

std::recursive_mutex mutex;

struct Counters {
  std::map<std::string, long> calls;
  ~Counters() {
    const char *path = std::getenv("SIM_CUDA_COUNTS");
    std::FILE *file = path ? std::fopen(path, "w") : nullptr;
    if (!file)
      return;
    for (const auto &[name, count] : calls)
      std::fprintf(file, "%s %ld\n", name.c_str(), count);
    std::fclose(file);
  }
};

Counters &counters() {
  static Counters all;
  return all;
}

} // namespace

std::vector<Gpu *> &gpus() {
  static auto *const all = [] {
    auto *made = new std::vector<Gpu *>;
    const char *count = std::getenv("SIM_CUDA_DEVICES");
    for (int i = 0; i < (count ? std::atoi(count) : 1); ++i) {
      made->push_back(new Gpu{i, {}, {}, {}, 0, 0});
      made->back()->defaultStream.gpu = made->back();
    }
    return made;
  }();
  return *all;
}

Gpu *&current() {
  static thread_local Gpu *gpu = nullptr;
  return gpu;
}

bool is(const char *mode) {
  const char *wanted = std::getenv("SIM_CUDA");
  return wanted && std::strcmp(wanted, mode) == 0;
}

// "cuMemAlloc=2,score_select=700@3"
int injected(const std::string &name) {
  static auto *const seen = new std::map<std::string, int>;
  const char *wanted = std::getenv("SIM_CUDA_FAIL");
  if (!wanted)
    return 0;
  std::istringstream list(wanted);
  for (std::string item; std::getline(list, item, ',');) {
    const size_t equals = item.find('='), at = item.find('@');
    if (item.substr(0, equals) != name || equals == std::string::npos)
      continue;
    const int times = ++(*seen)[item];
    if (at == std::string::npos || times == std::atoi(item.c_str() + at + 1))
      return std::atoi(item.c_str() + equals + 1);
  }
  return 0;
}

bool timesAreCounted() {
  const char *us = std::getenv("SIM_CUDA_US");
  return us && std::strcmp(us, "counted") == 0;
}

bool timesByKernel() {
  const char *us = std::getenv("SIM_CUDA_US");
  return timesAreCounted() || (us && std::strchr(us, '='));
}

double microsecondsOf(const std::string &kernel) {
  const char *us = std::getenv("SIM_CUDA_US");
  std::istringstream list(us ? us : "250");
  double otherwise = 250;
  for (std::string item; std::getline(list, item, ',');) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos)
      otherwise = std::atof(item.c_str());
    else if (item.substr(0, equals) == kernel)
      return std::atof(item.c_str() + equals + 1);
  }
  return otherwise;
}

void count(const std::string &name) { ++counters().calls[name]; }

Call::Call(const char *name, bool safe) : guard(mutex) {
  ++counters().calls[name];
  result = injected(name);
  if (result || safe || !capturing())
    return;
  result = captureUnsupported;
  for (Gpu *gpu : gpus())
    for (Stream *stream : gpu->streams)
      stream->invalidated |= stream->capture != nullptr;
}

} // namespace simcuda

using namespace simcuda;

// How often a function was called, for tests in this process.
EXPORT long simCudaCalls(const char *name) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  const auto found = counters().calls.find(name);
  return found == counters().calls.end() ? 0 : found->second;
}
// Runs all that waits, as if no call had been made; for tests' own host code.
EXPORT void simCudaSettle() {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  for (Gpu *gpu : gpus())
    drainAll(*gpu);
}

// A driver works in the process that started it, not in a fork of that.
static pid_t &starter() {
  static pid_t process = 0;
  return process;
}

EXPORT int cuInit(unsigned) {
  const Call call("cuInit");
  if (starter() && starter() != ::getpid())
    return notInitialized;
  starter() = ::getpid();
  return is("none") ? noDevice : is("broken") ? unknown : call.result;
}
EXPORT int cuGetErrorName(int result, const char **text) {
  static const std::map<int, const char *> names = {
      {invalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {noBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {invalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {illegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {captureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
  const auto found = names.find(result);
  *text = found == names.end() ? "CUDA_ERROR_UNKNOWN" : found->second;
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
  *count = int(gpus().size());
  return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return size_t(ordinal) < gpus().size() ? 0 : invalidDevice;
}
// SIM_CUDA_GPU=a100: so that tables of that GPU are found by its name.
static bool isA100() {
  const char *wanted = std::getenv("SIM_CUDA_GPU");
  return wanted && std::strcmp(wanted, "a100") == 0;
}
EXPORT int cuDeviceGetName(char *name, int length, int) {
  std::snprintf(name, size_t(length), "%s",
                isA100() ? "NVIDIA A100-SXM4-80GB" : "Simulated GPU");
  return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  // Clock, multiprocessors, memory clock, bus, L2, capability: an H200's.
  static const std::map<int, int> h200 = {
      {13, 1'980'000}, {16, 132}, {36, 3'201'000}, {37, 6144},
      {38, 1 << 20},   {75, 9},   {76, 0}};
  static const std::map<int, int> a100 = {
      {13, 1'410'000}, {16, 108}, {36, 1'593'000}, {37, 5120},
      {38, 40 << 20},  {75, 8},   {76, 0}};
  const std::map<int, int> &values = isA100() ? a100 : h200;
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return found == values.end() ? invalidValue : 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  if (size_t(device) >= gpus().size())
    return invalidDevice;
  *context = gpus()[size_t(device)];
  return 0;
}
EXPORT int cuCtxSetCurrent(void *context) {
  const Call call("cuCtxSetCurrent");
  if (starter() != ::getpid())
    return notInitialized;
  current() = static_cast<Gpu *>(context);
  return call.result ? call.result : context ? current()->fault : 0;
}
EXPORT int cuCtxSynchronize() {
  const Call call("cuCtxSynchronize", false);
  return call.result ? call.result
         : current() ? drainAll(*current())
                     : invalidContext;
}
