// runtime/device/cuda/CudaKernel.cpp - kernels that run on an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaKernel.h"

#include "runtime/device/cuda/CudaCode.h"
#include "runtime/device/cuda/TimingEvent.h"
#include "runtime/device/gpu/GpuArguments.h"
#include "runtime/device/gpu/HostRanges.h"
#include "runtime/device/sim/SimKernel.h"
#include "support/Error.h"

#include <algorithm>

namespace tessera::runtime {

namespace {

using cuda::Driver;

class Kernel : public CudaKernel {
public:
  Kernel(const CompiledKernel &compiled, const std::string &kernel,
         const std::vector<std::string> &parameters, uint32_t appended)
      : code(compiled, kernel, parameters), appended(appended) {}

  using LoadedKernel::launch;

  void describe(const std::string &configuration,
                const std::string &file) override {
    code.describe(configuration, file);
  }

  void launch(const Grid &grid, std::span<const Arg> args, void *) override {
    if (!grid[0] || !grid[1] || !grid[2])
      return;
    const auto bound = bind(grid, args);
    bound->reset();
    bound->run();
    bound->fetch();
    if (const std::string damage = bound->damage(); !damage.empty())
      throw KernelFault("`" + code.name + "`: " + damage,
                        "TESSERA_DEVICE=sim:sm_80 says which line did it");
  }

  std::unique_ptr<CudaLaunch> bind(const Grid &grid,
                                   std::span<const Arg> args) override {
    return std::make_unique<Launch>(
        std::static_pointer_cast<Kernel>(shared_from_this()), grid, args);
  }

private:
  class Launch : public CudaLaunch {
  public:
    Launch(std::shared_ptr<Kernel> ofKernel, const Grid &grid,
           std::span<const Arg> args)
        : kernel(std::move(ofKernel)), driver(kernel->code.driver), grid(grid),
          values(kernel->code.arguments.values(args)) {
      kernel->code.arguments.checkGrid(grid);
      driver.use();
      const auto &slots = kernel->code.arguments.slots();
      std::vector<HostRange> ranges;
      for (const GpuArguments::Slot &slot : slots)
        if (const auto *pointer = std::get_if<Pointer>(&args[slot.argument]))
          addRange(slot, *pointer, ranges);
      for (const HostRange &range : mergedRanges(std::move(ranges))) {
        memory.push_back(std::make_unique<cuda::DeviceRange>(driver, range));
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
      driver.check(driver.api().CtxSynchronize(),
                   "running " + kernel->code.text());
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
      const cuda::TimingEvent before(driver), after(driver);
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
        throw Error("argument `" + kernel->code.arguments.nameOf(slot) +
                        "` of `" + kernel->code.name +
                        "` is memory of unknown size, which cannot be copied "
                        "to a GPU",
                    "set Pointer::bytes");
      ranges.push_back(
          {kernel->code.arguments.nameOf(slot),
           static_cast<char *>(pointer.address) - pointer.bytesBefore,
           pointer.bytes + pointer.bytesBefore, true});
    }

    // A null pointer and a pointer to an empty range are passed as null.
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

    void start() { kernel->code.start(grid, addresses.data(), nullptr); }

    std::shared_ptr<Kernel> kernel;
    const Driver &driver;
    Grid grid;
    std::vector<GpuArguments::Value> values;
    std::vector<void *> addresses; // of the values
    std::vector<std::unique_ptr<cuda::DeviceRange>> memory;
    std::vector<std::string> initial; // contents of `memory`
  };

  cuda::CudaCode code;
  const uint32_t appended;
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
