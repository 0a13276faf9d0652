// tests/simtorch/Device.cpp - devices, streams and events of torch's "cuda" on
// the simulated driver.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/simtorch/Driver.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <unordered_set>

namespace simtorch {

namespace {

constexpr int most = 8;

struct Gpus {
  int count = 0;
  std::array<void *, most> contexts{};

  Gpus() {
    call("cuInit", 0u);
    call("cuDeviceGetCount", &count);
    count = std::min(count, most);
    for (int i = 0; i < count; ++i)
      call("cuDevicePrimaryCtxRetain", &contexts[size_t(i)], i);
  }
};

Gpus &gpus() {
  static Gpus all;
  return all;
}

thread_local int device = -1; // -1: 0, and its context not yet made current
thread_local std::array<void *, most> streams{};

c10::Stream streamOf(int index, void *handle) {
  return c10::Stream(c10::Stream::UNSAFE,
                     c10::Device(c10::kCUDA, c10::DeviceIndex(index)),
                     c10::StreamId(reinterpret_cast<intptr_t>(handle)));
}
void *handleOf(const c10::Stream &stream) {
  return reinterpret_cast<void *>(intptr_t(stream.id()));
}

} // namespace

void *find(const char *name) {
  static void *const library = [] {
    const char *path = std::getenv("TESSERA_CUDA_DRIVER");
    void *opened = path ? ::dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    TORCH_CHECK(opened, "TESSERA_CUDA_DRIVER must name the simulated driver");
    return opened;
  }();
  void *function = ::dlsym(library, name);
  TORCH_CHECK(function, "the simulated driver has no function ", name);
  return function;
}

void check(int result, const char *name) {
  TORCH_CHECK(result == 0, name, " gave the error ", result);
}

void settle() { reinterpret_cast<void (*)()>(find("simCudaSettle"))(); }

int deviceCount() { return gpus().count; }

int currentDevice() {
  if (device < 0)
    setDevice(0);
  return device;
}

void setDevice(int index) {
  TORCH_CHECK(index >= 0 && index < gpus().count, "no device ", index);
  if (index == device)
    return;
  call("cuCtxSetCurrent", gpus().contexts[size_t(index)]);
  device = index;
}

void *currentStream(int index) { return streams[size_t(index)]; }
void setCurrentStream(int index, void *stream) {
  streams[size_t(index)] = stream;
}

static std::atomic<Capture *> captured = nullptr;

void capture(Capture *into) { captured = into; }

Capture *capturing() {
  Capture *now = captured;
  return now && currentStream(currentDevice()) == now->stream ? now : nullptr;
}

namespace {

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device getDevice() const override {
    return {c10::kCUDA, c10::DeviceIndex(currentDevice())};
  }
  void setDevice(c10::Device to) const override {
    if (to.index() >= 0)
      simtorch::setDevice(to.index());
  }
  c10::Device exchangeDevice(c10::Device to) const override {
    const c10::Device before = getDevice();
    setDevice(to);
    return before;
  }
  void uncheckedSetDevice(c10::Device to) const noexcept override {
    try {
      setDevice(to);
    } catch (const std::exception &) { // a GPU that failed stays current
      device = to.index();
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return c10::DeviceIndex(gpus().count);
  }

  c10::Stream getStream(c10::Device of) const override {
    const int index = of.index() < 0 ? currentDevice() : of.index();
    return streamOf(index, currentStream(index));
  }
  c10::Stream getDefaultStream(c10::Device of) const override {
    return streamOf(of.index(), nullptr);
  }
  c10::Stream getNewStream(c10::Device of, int) const override {
    const c10::Device before = exchangeDevice(of);
    void *stream = nullptr;
    call("cuStreamCreate", &stream, 1u); // does not wait for the default one
    setDevice(before);
    return streamOf(of.index(), stream);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device of, bool) const override {
    return getNewStream(of, 0);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    const c10::Stream before = getStream(to.device());
    streams[size_t(to.device_index())] = handleOf(to);
    return before;
  }
  void *getStreamNativeHandle(const c10::Stream stream) const override {
    return handleOf(stream);
  }
  bool queryStream(const c10::Stream &) const override { return true; }
  void synchronizeStream(const c10::Stream &stream) const override {
    call("cuStreamSynchronize", handleOf(stream));
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    const c10::Device before = exchangeDevice({c10::kCUDA, index});
    call("cuCtxSynchronize");
    setDevice(before);
  }

  void record(void **event, const c10::Stream &stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (!*event)
      call("cuEventCreate", event, 0u);
    call("cuEventRecord", *event, handleOf(stream));
  }
  void block(void *event, const c10::Stream &stream) const override {
    if (event)
      call("cuStreamWaitEvent", handleOf(stream), event, 0u);
  }
  bool queryEvent(void *event) const override {
    return !event ||
           reinterpret_cast<int (*)(void *)>(find("cuEventQuery"))(event) == 0;
  }
  void synchronizeEvent(void *event) const override {
    if (event)
      call("cuEventSynchronize", event);
  }
  void destroyEvent(void *event,
                    const c10::DeviceIndex) const noexcept override {
    if (event)
      reinterpret_cast<int (*)(void *)>(find("cuEventDestroy_v2"))(event);
  }
};

// Memory goes back in the order of the stream that was current when it was
// taken, as from torch's caching allocator.
struct Block {
  int device;
  unsigned long long address;
  void *stream;
};

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const int index = currentDevice();
    auto block = std::make_unique<Block>();
    *block = {index, 0, currentStream(index)};
    if (bytes)
      call("cuMemAllocAsync", &block->address, bytes, block->stream);
    void *data = reinterpret_cast<void *>(block->address);
    return {data, block.release(), &release,
            c10::Device(c10::kCUDA, c10::DeviceIndex(index))};
  }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    settle();
    default_copy_data(to, from, bytes);
  }

private:
  static void release(void *context) {
    const auto free = [](void *block) {
      giveBack(std::unique_ptr<Block>(static_cast<Block *>(block)));
    };
    // Other threads than that of the capture give back what is the graph's.
    if (Capture *graph = captured)
      graph->memory.emplace_back(context, free);
    else
      free(context);
  }
  static void giveBack(const std::unique_ptr<Block> &block) {
    if (block->address) // a GPU that failed keeps it
      reinterpret_cast<int (*)(unsigned long long, void *)>(
          find("cuMemFreeAsync"))(block->address, block->stream);
  }
};

} // namespace

namespace {

// Pinned host memory, from which a GPU copies while the host continues.
struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void *data = std::malloc(std::max<size_t>(bytes, 1));
    const std::lock_guard<std::mutex> lock(mutex());
    known().insert(data);
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  static bool owns(const void *data) {
    const std::lock_guard<std::mutex> lock(mutex());
    return known().contains(data);
  }

private:
  static std::mutex &mutex() {
    static auto *const one = new std::mutex;
    return *one;
  }
  static std::unordered_set<const void *> &known() {
    static auto *const all = new std::unordered_set<const void *>;
    return *all;
  }
  static void release(void *data) {
    settle(); // what copies from it
    const std::lock_guard<std::mutex> lock(mutex());
    known().erase(data);
    std::free(data);
  }
};

c10::Allocator *pinnedAllocator() {
  static auto *const one = new PinnedAllocator;
  return one;
}

} // namespace

c10::Allocator *allocator() {
  static auto *const one = new Allocator;
  return one;
}

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

// What autograd asks of the accelerator.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return simtorch::deviceCount() > 0; }
  c10::Allocator *getPinnedMemoryAllocator() const override {
    return pinnedAllocator();
  }
  bool isPinnedPtr(const void *data) const override {
    return PinnedAllocator::owns(data);
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return simtorch::deviceCount(); }
  c10::DeviceIndex deviceCount() const override {
    return c10::DeviceIndex(simtorch::deviceCount());
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    setDevice(index);
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return c10::DeviceIndex(currentDevice());
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const int before = currentDevice();
    setDevice(index);
    return c10::DeviceIndex(before);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? getCurrentDevice() : exchangeDevice(index);
  }
};

} // namespace simtorch

// The macro finds the registry only in this namespace.
namespace at {
using simtorch::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
} // namespace at

namespace simtorch {

namespace {
[[maybe_unused]] const bool registered = [] {
  c10::SetAllocator(c10::kCUDA, allocator());
  return true;
}();
} // namespace

} // namespace simtorch
