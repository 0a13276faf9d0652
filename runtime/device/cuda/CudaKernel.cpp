// runtime/device/cuda/CudaKernel.cpp - kernels that run on an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaKernel.h"

#include "runtime/device/cuda/Driver.h"
#include "runtime/device/gpu/GpuArguments.h"
#include "runtime/device/gpu/HostRanges.h"
#include "runtime/device/sim/SimKernel.h"
#include "support/Error.h"

#include <algorithm>

namespace tessera::runtime {

namespace {

using cuda::Driver;

constexpr cuda::Result invalidImage = 200, noBinaryForGpu = 209,
                       unsupportedPtx = 222;
// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; more than 48 KiB has to be
// asked for.
constexpr int attributeDynamicShared = 8;
constexpr uint32_t plainShared = 48 << 10;
constexpr int jitMinBlocks = 31; // CU_JIT_MIN_CTA_PER_SM

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
         const std::vector<std::string> &parameters, uint32_t appended)
      : name(kernel), appended(appended),
        arguments(compiled.meta, kernel, parameters),
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
    const auto bound = bind(grid, args);
    bound->reset();
    bound->run();
    bound->fetch();
    if (const std::string damage = bound->damage(); !damage.empty())
      throw KernelFault("`" + name + "`: " + damage,
                        "TESSERA_DEVICE=sim:sm_80 says which line did it");
  }

  std::unique_ptr<CudaLaunch> bind(const Grid &grid,
                                   const std::vector<Arg> &args) override {
    return std::make_unique<Launch>(
        std::static_pointer_cast<Kernel>(shared_from_this()), grid, args);
  }

private:
  class Launch : public CudaLaunch {
  public:
    Launch(std::shared_ptr<Kernel> ofKernel, const Grid &grid,
           const std::vector<Arg> &args)
        : kernel(std::move(ofKernel)), grid(grid),
          values(kernel->arguments.values(args)) {
      kernel->arguments.checkGrid(grid);
      kernel->driver.use();
      const auto &slots = kernel->arguments.slots();
      std::vector<HostRange> ranges;
      for (const GpuArguments::Slot &slot : slots)
        if (const auto *pointer = std::get_if<Pointer>(&args[slot.argument]))
          addRange(slot, *pointer, ranges);
      for (const HostRange &range : mergedRanges(std::move(ranges))) {
        memory.push_back(
            std::make_unique<cuda::DeviceRange>(kernel->driver, range));
        initial.push_back(memory.back()->hostBytes());
      }
      for (size_t i = 0; i < slots.size(); ++i)
        if (const auto *pointer =
                std::get_if<Pointer>(&args[slots[i].argument]))
          values[i] = deviceValue(*pointer);
      values.resize(values.size() + kernel->appended);
      for (GpuArguments::Value &value : values)
        addresses.push_back(value.data());
    }

    void reset() override {
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i]->fill(initial[i]);
    }
    void run() override {
      start();
      kernel->driver.check(kernel->driver.api().CtxSynchronize(),
                           "running `" + kernel->name + "`");
    }
    void fetch() override {
      for (const auto &range : memory)
        range->fetch();
    }
    std::string difference() override {
      for (const auto &range : memory) {
        const std::string now = range->deviceBytes(),
                          first = range->hostBytes();
        if (now != first)
          return "`" + range->name() + "` at byte " +
                 std::to_string(
                     std::mismatch(now.begin(), now.end(), first.begin())
                         .first -
                     now.begin());
      }
      return {};
    }
    std::string damage() override {
      for (const auto &range : memory)
        if (std::string text = range->damage(); !text.empty())
          return text;
      return {};
    }
    double time(const cuda::CacheFlush *flush) override {
      const Event before(kernel->driver), after(kernel->driver);
      if (flush)
        flush->start();
      before.record();
      start();
      after.record();
      return after.millisecondsSince(before);
    }

  private:
    void addRange(const GpuArguments::Slot &slot, const Pointer &pointer,
                  std::vector<HostRange> &ranges) const {
      if (!pointer.address)
        return;
      if (pointer.bytes == Pointer::unknown)
        throw Error("argument `" + slot.name + "` of `" + kernel->name +
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

    void start() {
      kernel->driver.check(kernel->driver.api().LaunchKernel(
                               kernel->function, grid[0], grid[1], grid[2],
                               kernel->threads, 1, 1, kernel->sharedBytes,
                               nullptr, addresses.data(), nullptr),
                           "launching `" + kernel->name + "`");
    }

    std::shared_ptr<Kernel> kernel;
    Grid grid;
    std::vector<GpuArguments::Value> values;
    std::vector<void *> addresses; // of the values
    std::vector<std::unique_ptr<cuda::DeviceRange>> memory;
    std::vector<std::string> initial; // contents of `memory`
  };

  void load(const CompiledKernel &compiled) {
    cuda::Result result = invalidImage;
    if (!compiled.code.empty())
      result = driver.api().ModuleLoadData(&module, compiled.code.data());
    const auto ptx = compiled.stages.find("ptx");
    if ((result == noBinaryForGpu || result == invalidImage) &&
        ptx != compiled.stages.end() && !ptx->second.empty()) {
      // As many blocks of an SM as ptxas was asked for.
      int option = jitMinBlocks;
      void *value =
          reinterpret_cast<void *>(uintptr_t(compiled.meta.minBlocks));
      result = driver.api().ModuleLoadDataEx(&module, ptx->second.c_str(),
                                             compiled.meta.minBlocks ? 1 : 0,
                                             &option, &value);
    }
    if (result == unsupportedPtx)
      throw Error("the driver for CUDA " +
                      std::to_string(driver.version() / 1000) + "." +
                      std::to_string(driver.version() % 1000 / 10) +
                      " is too old for the PTX of `" + name + "`",
                  "install a driver for CUDA 12.8 or later");
    driver.check(result,
                 "loading the code of `" + name + "` on " + driver.gpu());
  }

  const Driver &driver = Driver::instance();
  const std::string name;
  const uint32_t appended;
  const GpuArguments arguments;
  const uint32_t threads, sharedBytes;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
};

} // namespace

std::vector<double> CudaKernel::time(const Grid &grid,
                                     const std::vector<Arg> &args,
                                     uint32_t repeats) {
  const auto bound = bind(grid, args);
  bound->reset();
  std::vector<double> times;
  for (uint32_t i = 0; i < repeats; ++i)
    times.push_back(bound->time(nullptr));
  return times;
}

std::shared_ptr<CudaKernel>
loadCudaKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters, uint32_t appended) {
  return std::make_shared<Kernel>(compiled, kernel, parameters, appended);
}

} // namespace tessera::runtime
