// runtime/device/sim/SimKernel.cpp - kernels that run on a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/sim/SimKernel.h"

#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/gpu/GpuArguments.h"
#include "runtime/device/gpu/HostRanges.h"
#include "simulator/Sim.h"
#include "support/GpuTarget.h"
#include "support/Options.h"
#include "support/Progress.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace tessera::runtime {

namespace {

// Returns the hint for a failed check.
std::string hintOf(sim::Check check) {
  switch (check) {
  case sim::Check::OutOfBounds:
    return "mask the access, or check sizes and strides of the launch; memory "
           "to which only a table of addresses points must also be an argument "
           "(docs/simulator.md)";
  case sim::Check::AddressOverflow:
    return "make one factor of the offset 64 bits wide: .to(tl.int64)";
  case sim::Check::Assertion:
    return "the launch was stopped; what other blocks wrote stays";
  default:
    return "docs/simulator.md explains the check '" +
           std::string(checkName(check)) + "'";
  }
}

sim::Options simOptions() {
  const std::string checks = optionText(Option::SimChecks);
  if (checks != "all" && checks != "bounds")
    throw Error("TESSERA_SIM_CHECKS=" + checks + " is not a set of checks",
                "set it to all or bounds");
  sim::Options options;
  options.counters = false; // launches do not read them
  if (checks == "bounds") {
    options.races = options.uninitialized = options.overflow = false;
    options.conflicts = sim::GlobalConflicts::Off;
  }
  const std::string lanes = optionText(Option::SimLanes);
  if (lanes != "lockstep" && lanes != "apart")
    throw Error("TESSERA_SIM_LANES=" + lanes + " is not a way to run lanes",
                "set it to lockstep or apart");
  options.lanesApart = lanes == "apart";
  const std::string cores = optionText(Option::SimTensorCores);
  if (cores != "fused" && cores != "a100" && cores != "h100")
    throw Error("TESSERA_SIM_TENSOR_CORES=" + cores +
                    " is not a kind of tensor core",
                "set it to fused, a100 or h100");
  options.tensorCores = cores == "fused"  ? sim::TensorCores::Fused
                        : cores == "a100" ? sim::TensorCores::A100
                                          : sim::TensorCores::H100;
  options.seed = uint64_t(optionNumber(Option::SimSeed));
  const int64_t resident = optionNumber(Option::SimResident);
  if (resident < 0 || resident > 65536)
    throw Error("TESSERA_SIM_RESIDENT=" + std::to_string(resident) +
                    " is not a number of blocks",
                "set it to 0, or to 1 up to 65536");
  options.resident = unsigned(resident);
  options.threads = unsigned(hostThreads());
  options.serial = options.threads == 1;
  return options;
}

// Prints the output of vprintf in the format of the cpu's tl.device_print.
void print(const std::string &output) {
  const int64_t limit = optionNumber(Option::PrintLimit);
  size_t end = 0;
  for (int64_t lines = 0; end < output.size() && lines < limit; ++lines)
    end = std::min(output.find('\n', end), output.size() - 1) + 1;
  std::fwrite(output.data(), 1, end, stdout);
  if (end < output.size())
    std::printf("tessera: the rest of what this launch prints is left out "
                "(TESSERA_PRINT_LIMIT=%lld)\n",
                static_cast<long long>(limit));
  std::fflush(stdout);
}

sim::Module loadModule(const std::string &device,
                       const CompiledKernel &compiled,
                       const std::string &kernel) {
  const auto found = compiled.stages.find("ptx");
  if (found == compiled.stages.end() || found->second.empty())
    throw Error("the artifact of `" + kernel + "` for " + device +
                    " has no PTX",
                "clear the cache: tessera cache clear");
  return sim::Module::load(found->second, kernel + ".ptx");
}

class SimKernel : public LoadedKernel {
public:
  SimKernel(const LaunchDevice &device, const CompiledKernel &compiled,
            const std::string &kernel,
            const std::vector<std::string> &parameters)
      : device(device.name), name(kernel), symbol(compiled.meta.symbol),
        module(loadModule(device.name, compiled, kernel)),
        arguments(compiled.meta, kernel, parameters),
        sharedBytes(compiled.meta.sharedBytes) {
    checkParameters();
    block = module.requiredBlock(symbol);
    if (!block[0])
      block = {compiled.meta.threads, 1, 1};
    for (uint32_t &threads : block)
      threads = std::max(threads, 1u);
    const GpuTarget target = GpuTarget::parse(device.target());
    const uint64_t shared = uint64_t(module.staticShared(symbol)) + sharedBytes;
    if (shared > target.sharedPerBlock)
      throw Error("`" + kernel + "` takes " + std::to_string(shared) +
                      " bytes of shared memory, a block of " + target.name +
                      " has " + std::to_string(target.sharedPerBlock),
                  "use smaller tiles or fewer stages");
  }

  using LoadedKernel::launch;

  void launch(const Grid &grid, std::span<const Arg> args, void *) override {
    if (!grid[0] || !grid[1] || !grid[2])
      return;
    arguments.checkGrid(grid);
    const auto values = arguments.values(args);
    std::vector<sim::Param> params;
    std::vector<HostRange> ranges;
    for (size_t i = 0; i < values.size(); ++i) {
      const GpuArguments::Slot &slot = arguments.slots()[i];
      params.push_back({{values[i].begin(), values[i].begin() + slot.bytes}});
      if (const auto *pointer = std::get_if<Pointer>(&args[slot.argument]))
        addRange(arguments.nameOf(slot), *pointer, ranges);
    }
    sim::Memory memory;
    for (const HostRange &range : mergedRanges(std::move(ranges)))
      memory.add(range.name, range.begin, range.bytes, range.writable);
    sim::Options options = simOptions();
    Progress progress;
    options.progress = [&](uint64_t started, uint64_t blocks) {
      if (progress.due())
        progress.show("`" + name + "` on " + device + ", block " +
                      std::to_string(started) + " of " +
                      std::to_string(blocks) +
                      progress.timeLeft(started, blocks));
    };
    std::lock_guard<std::mutex> guard(mutex);
    const sim::Report report = module.launch(symbol, grid, block, sharedBytes,
                                             params, memory, options);
    if (!report.output.empty())
      print(report.output);
    if (!report.ok())
      throw KernelFault(device + ": " + report.findings[0].text(),
                        hintOf(report.findings[0].check));
  }

private:
  void checkParameters() const {
    const std::vector<uint32_t> sizes = module.parameterBytes(symbol);
    const auto &slots = arguments.slots();
    bool fits = sizes.size() == slots.size();
    for (size_t i = 0; fits && i < sizes.size(); ++i)
      fits = sizes[i] == slots[i].bytes;
    if (fits)
      return;
    const auto list = [](const auto &all, auto size) {
      std::string text;
      for (const auto &one : all)
        text += (text.empty() ? "" : ", ") + std::to_string(size(one));
      return text.empty() ? "none" : text;
    };
    throw Error("the PTX of `" + name + "` takes parameters of these bytes: " +
                    list(sizes, [](uint32_t bytes) { return bytes; }) +
                    "; its metadata says " +
                    list(slots, [](const auto &slot) { return slot.bytes; }),
                "clear the cache: tessera cache clear");
  }

  static void addRange(const std::string &name, const Pointer &pointer,
                       std::vector<HostRange> &ranges) {
    if (!pointer.address)
      return;
    if (pointer.bytes == Pointer::unknown) {
      if (auto mapping = mappingOf(pointer.address)) {
        mapping->name = "the memory that contains " + name;
        ranges.push_back(std::move(*mapping));
      }
      return;
    }
    ranges.push_back(
        {name, static_cast<char *>(pointer.address) - pointer.bytesBefore,
         pointer.bytes + pointer.bytesBefore, true});
  }

  const std::string device, name, symbol;
  const sim::Module module;
  const GpuArguments arguments;
  const uint32_t sharedBytes;
  sim::Dim3 block{};
  std::mutex mutex; // launches of one module must not overlap
};

class SimDevice : public LaunchDevice {
public:
  explicit SimDevice(const std::string &ofTarget)
      : LaunchDevice("sim:" + ofTarget), ofTarget(ofTarget) {}
  const std::string &target() const override { return ofTarget; }
  bool readsPtx() const override { return true; }
  std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const override {
    return loadSimKernel(*this, compiled, kernel, parameters);
  }

private:
  const std::string ofTarget;
};

} // namespace

void registerSimDevices() {
  for (const std::string &target : GpuTarget::names())
    registerDevice(std::make_unique<SimDevice>(target));
}

std::shared_ptr<LoadedKernel>
loadSimKernel(const LaunchDevice &device, const CompiledKernel &compiled,
              const std::string &kernel,
              const std::vector<std::string> &parameters) {
  return std::make_shared<SimKernel>(device, compiled, kernel, parameters);
}

} // namespace tessera::runtime
