// runtime/device/cuda/CudaKernel.cpp - kernels that run on an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaKernel.h"

#include "runtime/device/cuda/Driver.h"
#include "runtime/device/gpu/GpuArguments.h"
#include "runtime/device/gpu/HostRanges.h"
#include "support/Error.h"

namespace tessera::runtime {

namespace {

using cuda::Driver;

constexpr cuda::Result invalidImage = 200, noBinaryForGpu = 209;
// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; more than 48 KiB has to be
// asked for.
constexpr int attributeDynamicShared = 8;
constexpr uint32_t plainShared = 48 << 10;

// A piece of the GPU's memory as large as a range of the host's, at the same
// offset from a 256-byte boundary: alignments are kept.
class DeviceRange {
public:
  DeviceRange(const Driver &driver, const HostRange &host)
      : driver(driver), host(host) {
    const size_t shift = reinterpret_cast<uintptr_t>(host.begin) % 256;
    driver.check(driver.api().MemAlloc(&base, host.bytes + shift),
                 "allocating " + std::to_string(host.bytes) + " bytes for " +
                     host.name);
    begin = base + shift;
  }
  DeviceRange(const DeviceRange &) = delete;
  ~DeviceRange() { driver.api().MemFree(base); }

  bool holds(const void *address) const {
    return address >= host.begin && address < host.begin + host.bytes;
  }
  cuda::Address addressOf(const void *address) const {
    return begin +
           cuda::Address(static_cast<const char *>(address) - host.begin);
  }
  void fill() const {
    driver.check(driver.api().MemcpyHtoD(begin, host.begin, host.bytes),
                 "copying " + host.name + " to the GPU");
  }
  void fetch() const {
    driver.check(driver.api().MemcpyDtoH(host.begin, begin, host.bytes),
                 "copying " + host.name + " from the GPU");
  }

private:
  const Driver &driver;
  HostRange host;
  cuda::Address base = 0, begin = 0;
};

class Event {
public:
  explicit Event(const Driver &driver) : driver(driver) {
    driver.check(driver.api().EventCreate(&event, 0), "making an event");
  }
  Event(const Event &) = delete;
  ~Event() { driver.api().EventDestroy(event); }
  void record() const {
    driver.check(driver.api().EventRecord(event, nullptr), "timing a launch");
  }
  double millisecondsSince(const Event &start) const {
    float passed = 0;
    driver.check(driver.api().EventSynchronize(event), "running a kernel");
    driver.check(driver.api().EventElapsedTime(&passed, start.event, event),
                 "timing a launch");
    return double(passed);
  }

private:
  const Driver &driver;
  cuda::Event event = nullptr;
};

class Kernel : public CudaKernel {
public:
  Kernel(const CompiledKernel &compiled, const std::string &kernel,
         const std::vector<std::string> &parameters)
      : name(kernel), arguments(compiled.meta, kernel, parameters),
        threads(compiled.meta.threads), sharedBytes(compiled.meta.sharedBytes) {
    if (!threads)
      throw Error("the artifact of `" + kernel +
                      "` does not say how many "
                      "threads a block has",
                  "clear the cache: tessera cache clear");
    driver.use();
    load(compiled);
    try {
      driver.check(driver.api().ModuleGetFunction(&function, module,
                                                  compiled.meta.symbol.c_str()),
                   "finding `" + compiled.meta.symbol + "` in its code");
      if (sharedBytes > plainShared)
        driver.check(driver.api().FuncSetAttribute(
                         function, attributeDynamicShared, int(sharedBytes)),
                     "asking for " + std::to_string(sharedBytes) +
                         " bytes of shared memory");
    } catch (...) {
      driver.api().ModuleUnload(module);
      throw;
    }
  }
  ~Kernel() override {
    if (!driver.api().CtxSynchronize())
      driver.api().ModuleUnload(module);
  }

  void launch(const Grid &grid, const std::vector<Arg> &args) override {
    if (!grid[0] || !grid[1] || !grid[2])
      return;
    Prepared prepared(*this, args);
    start(grid, prepared);
    driver.check(driver.api().CtxSynchronize(), "running `" + name + "`");
    for (const auto &range : prepared.memory)
      range->fetch();
  }

  std::vector<double> time(const Grid &grid, const std::vector<Arg> &args,
                           uint32_t repeats) override {
    Prepared prepared(*this, args);
    std::vector<double> times;
    for (uint32_t i = 0; i < repeats; ++i) {
      const Event before(driver), after(driver);
      before.record();
      start(grid, prepared);
      after.record();
      times.push_back(after.millisecondsSince(before));
    }
    return times;
  }

private:
  // Memory and parameters of a launch.
  struct Prepared {
    Prepared(const Kernel &kernel, const std::vector<Arg> &args)
        : values(kernel.arguments.values(args)) {
      kernel.driver.use();
      const auto &slots = kernel.arguments.slots();
      std::vector<HostRange> ranges;
      for (const GpuArguments::Slot &slot : slots)
        if (const auto *pointer = std::get_if<Pointer>(&args[slot.argument]))
          addRange(kernel, slot, *pointer, ranges);
      for (const HostRange &range : mergedRanges(std::move(ranges))) {
        memory.push_back(std::make_unique<DeviceRange>(kernel.driver, range));
        memory.back()->fill();
      }
      for (size_t i = 0; i < slots.size(); ++i) {
        if (const auto *pointer =
                std::get_if<Pointer>(&args[slots[i].argument]))
          values[i] = deviceValue(*pointer);
        addresses.push_back(values[i].data());
      }
    }

    static void addRange(const Kernel &kernel, const GpuArguments::Slot &slot,
                         const Pointer &pointer,
                         std::vector<HostRange> &ranges) {
      if (!pointer.address)
        return;
      if (pointer.bytes == Pointer::unknown)
        throw Error("argument `" + slot.name + "` of `" + kernel.name +
                        "` is memory of unknown size, which cannot be copied "
                        "to a GPU",
                    "set Pointer::bytes");
      ranges.push_back(
          {slot.name,
           static_cast<char *>(pointer.address) - pointer.bytesBefore,
           pointer.bytes + pointer.bytesBefore, true});
    }

    // A null pointer, and one to nothing, stay null.
    GpuArguments::Value deviceValue(const Pointer &pointer) const {
      cuda::Address address = 0;
      for (const auto &range : memory)
        if (range->holds(pointer.address))
          address = range->addressOf(pointer.address);
      GpuArguments::Value value;
      static_assert(sizeof(address) == sizeof(value));
      std::copy_n(reinterpret_cast<const uint8_t *>(&address), sizeof(address),
                  value.begin());
      return value;
    }

    std::vector<GpuArguments::Value> values;
    std::vector<void *> addresses; // of the values
    std::vector<std::unique_ptr<DeviceRange>> memory;
  };

  void load(const CompiledKernel &compiled) {
    cuda::Result result = invalidImage;
    if (!compiled.code.empty())
      result = driver.api().ModuleLoadData(&module, compiled.code.data());
    const auto ptx = compiled.stages.find("ptx");
    if ((result == noBinaryForGpu || result == invalidImage) &&
        ptx != compiled.stages.end() && !ptx->second.empty())
      result = driver.api().ModuleLoadData(&module, ptx->second.c_str());
    driver.check(result,
                 "loading the code of `" + name + "` on " + driver.gpu());
  }

  void start(const Grid &grid, Prepared &prepared) const {
    driver.check(driver.api().LaunchKernel(function, grid[0], grid[1], grid[2],
                                           threads, 1, 1, sharedBytes, nullptr,
                                           prepared.addresses.data(), nullptr),
                 "launching `" + name + "`");
  }

  const Driver &driver = Driver::instance();
  const std::string name;
  const GpuArguments arguments;
  const uint32_t threads, sharedBytes;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
};

} // namespace

std::shared_ptr<CudaKernel>
loadCudaKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters) {
  return std::make_shared<Kernel>(compiled, kernel, parameters);
}

} // namespace tessera::runtime
