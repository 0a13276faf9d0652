// runtime/device/cuda/Driver.cpp - NVIDIA's driver, loaded when a GPU is
// wanted.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Driver.h"

#include "runtime/device/cuda/Results.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Trust.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace tessera::runtime::cuda {

namespace {

constexpr int attributeMajor = 75, attributeMinor = 76;
constexpr Result stubLibrary = 34, noDevice = 100;
const char *const elsewhere =
    "use TESSERA_DEVICE=sim:sm_80, a simulated GPU, or cpu";

template <typename F>
void find(void *library, F &function, const char *name) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (!function)
    throw Error("NVIDIA's driver " + optionText(Option::CudaDriver) +
                    " has no function " + name,
                "install a driver of CUDA 11 or later");
}

} // namespace

Driver &Driver::instance(int ordinal) {
  static std::mutex mutex;
  // Not destroyed: threads may outlive main.
  static auto *const drivers = new std::map<int, std::unique_ptr<Driver>>;
  std::lock_guard<std::mutex> guard(mutex);
  auto &driver = (*drivers)[ordinal];
  if (!driver)
    driver.reset(new Driver(ordinal));
  return *driver;
}

// CUDA's own variable, which users of torch know.
static bool wantsBlocking() {
  const char *wanted = std::getenv("CUDA_LAUNCH_BLOCKING");
  return wanted && *wanted && std::string(wanted) != "0";
}

Driver::Driver(int ordinal) : number(ordinal), waits(wantsBlocking()) {
  loadFunctions();
  open();
}

void Driver::loadFunctions() {
  const std::string path = optionText(Option::CudaDriver);
  // A bare name is looked up by the dynamic linker.
  if (path.find('/') != path.npos)
    requireTrusted(path, "TESSERA_CUDA_DRIVER=" + path,
                   TrustedContext::of(libraryPath(
                       reinterpret_cast<const void *>(&wantsBlocking))));
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw NoGpu("no NVIDIA GPU: " + std::string(::dlerror()), elsewhere);
#define TESSERA_FIND(name, suffix)                                             \
  find(library, functions.name, "cu" #name suffix)
  TESSERA_FIND(Init, "");
  TESSERA_FIND(GetErrorName, "");
  TESSERA_FIND(GetErrorString, "");
  TESSERA_FIND(DriverGetVersion, "");
  TESSERA_FIND(DeviceGetCount, "");
  TESSERA_FIND(DeviceGet, "");
  TESSERA_FIND(DeviceGetName, "");
  TESSERA_FIND(DeviceGetAttribute, "");
  TESSERA_FIND(DevicePrimaryCtxRetain, "");
  TESSERA_FIND(CtxSetCurrent, "");
  TESSERA_FIND(CtxSynchronize, "");
  TESSERA_FIND(StreamSynchronize, "");
  TESSERA_FIND(StreamIsCapturing, "");
  TESSERA_FIND(ModuleLoadData, "");
  TESSERA_FIND(ModuleLoadDataEx, "");
  TESSERA_FIND(ModuleUnload, "");
  TESSERA_FIND(ModuleGetFunction, "");
  TESSERA_FIND(FuncSetAttribute, "");
  TESSERA_FIND(LaunchKernel, "");
  TESSERA_FIND(MemAlloc, "_v2");
  TESSERA_FIND(MemFree, "_v2");
  TESSERA_FIND(MemcpyHtoD, "_v2");
  TESSERA_FIND(MemcpyDtoH, "_v2");
  TESSERA_FIND(MemsetD8Async, "");
  TESSERA_FIND(EventCreate, "");
  TESSERA_FIND(EventRecord, "");
  TESSERA_FIND(EventSynchronize, "");
  TESSERA_FIND(EventElapsedTime, "");
  TESSERA_FIND(EventDestroy, "_v2");
#undef TESSERA_FIND
  functions.LaunchKernelEx = reinterpret_cast<decltype(Api::LaunchKernelEx)>(
      ::dlsym(library, "cuLaunchKernelEx"));
}

void Driver::open() {
  int count = 0;
  Result result = functions.Init(0);
  if (!result)
    result = functions.DeviceGetCount(&count);
  if (result && result != noDevice && result != stubLibrary)
    check(result, "starting the driver");
  if (result || !count) {
    const char *text = nullptr;
    if (!result || functions.GetErrorString(result, &text) || !text)
      text = "the driver lists none";
    throw NoGpu("no NVIDIA GPU: " + std::string(text), elsewhere);
  }
  if (number < 0 || number >= count)
    throw NoGpu("no GPU " + std::to_string(number) + "; the driver lists " +
                    std::to_string(count),
                "number them from 0; CUDA_VISIBLE_DEVICES chooses which ones "
                "a process sees");
  char buffer[256] = {};
  int major = 0, minor = 0;
  check(functions.DeviceGet(&device, number), "opening the GPU");
  check(functions.DeviceGetName(buffer, sizeof buffer - 1, device),
        "asking for its name");
  check(functions.DeviceGetAttribute(&major, attributeMajor, device),
        "asking for its version");
  check(functions.DeviceGetAttribute(&minor, attributeMinor, device),
        "asking for its version");
  check(functions.DriverGetVersion(&driverVersion), "asking for its version");
  name = buffer;
  capability = 10 * major + minor;
  for (const std::string &target : GpuTarget::names()) // ascending
    if (int(GpuTarget::parse(target).computeCapability) <= capability)
      bestTarget = target;
  if (bestTarget.empty())
    throw NoGpu("the GPU " + name + " has compute capability " +
                    std::to_string(major) + "." + std::to_string(minor),
                "8.0 (Ampere) is the oldest that serves; " +
                    std::string(elsewhere));
  check(functions.DevicePrimaryCtxRetain(&context, device), "opening the GPU");
}

int Driver::attribute(int number) const {
  int value = 0;
  return functions.DeviceGetAttribute(&value, number, device) ? 0 : value;
}

bool Driver::healthy() const {
  return !functions.CtxSetCurrent(context) && !functions.CtxSynchronize();
}

void Driver::refuseUse(Result result) const {
  check(result, "choosing the GPU");
}

void Driver::check(Result result, const std::string &what) const {
  if (!result)
    return;
  const char *id = nullptr, *text = nullptr;
  std::string known = nameOf(result);
  if (known.empty() && !functions.GetErrorName(result, &id) && id)
    known = id;
  if (known.empty())
    known = "error " + std::to_string(result);
  if (functions.GetErrorString(result, &text) || !text)
    text = "";
  std::string last;
  if (const Cause cause = causeOf(result);
      cause == Cause::Kernel || cause == Cause::Lost)
    last = lastLaunches(what);
  throw Error("CUDA: " + what + ": " + known + " (" + text + ")" + last,
              (last.empty() ? ""
                            : "CUDA_LAUNCH_BLOCKING=1 waits for each launch, "
                              "so that the error names its kernel; ") +
                  hintOf(result));
}

void Driver::launched(const std::string *kernel) const {
  recent[recentCount.fetch_add(1, std::memory_order_relaxed) % recent.size()]
      .store(kernel, std::memory_order_relaxed);
}

const std::string *Driver::keepName(std::string kernel) const {
  static std::mutex mutex;
  static auto *const names = new std::set<std::string>;
  std::lock_guard<std::mutex> guard(mutex);
  return &*names->insert(std::move(kernel)).first;
}

// Returns an empty string if `what` already names the last launch.
std::string Driver::lastLaunches(const std::string &what) const {
  std::string text;
  const size_t count = recentCount.load(std::memory_order_relaxed);
  for (size_t i = 0; i < std::min(count, recent.size()); ++i)
    if (const std::string *kernel = recent[(count - 1 - i) % recent.size()]) {
      if (!i && what.find(*kernel) != std::string::npos)
        return {};
      if (text.find(*kernel) == std::string::npos)
        text += (text.empty() ? "; the kernel that failed is one of the last "
                                "launches on this GPU: "
                              : ", ") +
                *kernel;
    }
  return text;
}

std::optional<Error> faultOf(int ordinal) {
  try {
    const Driver &driver = Driver::instance(ordinal);
    Result result = driver.tryUse();
    if (!result)
      result = driver.api().CtxSynchronize();
    driver.check(result, "running kernels on " + driver.gpu());
  } catch (const Error &error) {
    return error;
  }
  return std::nullopt;
}

} // namespace tessera::runtime::cuda
