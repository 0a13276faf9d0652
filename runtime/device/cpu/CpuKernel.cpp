// runtime/device/cpu/CpuKernel.cpp - kernels that run on this processor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuKernel.h"

#include "runtime/device/cpu/CpuModule.h"
#include "runtime/device/cpu/Interrupt.h"
#include "runtime/device/cpu/KernelOutput.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <filesystem>

namespace tessera::runtime {

namespace {

int64_t slotBits(const Arg &arg, bool isFloat32) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg))
    return int64_t(reinterpret_cast<uintptr_t>(pointer->address));
  if (const int64_t *number = std::get_if<int64_t>(&arg))
    return *number;
  if (const uint64_t *number = std::get_if<uint64_t>(&arg))
    return int64_t(*number);
  if (const bool *flag = std::get_if<bool>(&arg))
    return *flag;
  if (const double *number = std::get_if<double>(&arg))
    return isFloat32 ? int64_t(std::bit_cast<uint32_t>(float(*number)))
                     : std::bit_cast<int64_t>(*number);
  return 0;
}

class CpuKernel : public LoadedKernel {
public:
  CpuKernel(const CompiledKernel &compiled, const std::string &kernel,
            const std::vector<std::string> &parameters)
      : module(compiled.code, compiled.meta.symbol), name(kernel),
        scratchBytes(compiled.meta.scratchBytes), lines(compiled.meta.lines) {
    for (const language::ArtifactParameter &parameter : compiled.meta.params)
      if (parameter.kind == "report")
        reports = true;
      else {
        slots.push_back(
            {uint32_t(argumentOf(parameter.name, kernel, parameters)),
             parameter.type == "fp32"});
        names.push_back(parameter.name);
      }
  }

  // The cache has one artifact for all files with the same text, and its line
  // table names the file that was compiled. The kernel's code begins with a row
  // of its file; the other files are imported under the same name everywhere.
  void describe(const std::string & /*configuration*/,
                const std::string &file) override {
    if (!lines.empty())
      lines.files[lines.rows.front().file] =
          std::filesystem::path(file).filename().string();
  }

  using LoadedKernel::launch;

  void launch(const Grid &grid, std::span<const Arg> args, void *) override {
    constexpr size_t few = 64;
    int64_t inlineSlots[few];
    std::vector<int64_t> manySlots;
    int64_t *values = inlineSlots;
    if (slots.size() >= few) {
      manySlots.resize(slots.size() + 1);
      values = manySlots.data();
    }
    for (size_t i = 0; i < slots.size(); ++i)
      values[i] = slotBits(args[slots[i].argument], slots[i].isFloat32);
    if (!reports) {
      check(runGrid(module, values, grid, scratchBytes, nullptr, &work), args);
      return;
    }
    Report report;
    values[slots.size()] =
        int64_t(reinterpret_cast<uintptr_t>(report.callbacks()));
    const Fault fault =
        runGrid(module, values, grid, scratchBytes, &report, &work);
    report.finish(name);
    check(fault, args);
  }

private:
  void check(const Fault &fault, std::span<const Arg> args) const {
    if (!fault.happened()) [[likely]]
      return;
    throwFault(fault, args);
  }

  [[noreturn]] void throwFault(const Fault &fault,
                               std::span<const Arg> args) const {
    if (fault.signal == SIGINT)
      throw LaunchInterrupted("kernel `" + name + "` was interrupted",
                              "what its programs wrote until then stays");
    std::string place;
    if (fault.address)
      place = ", " + placeOf(fault.address, args);
    const auto entry = reinterpret_cast<uintptr_t>(module.entry());
    if (const std::string line = lines.placeOf(fault.instruction - entry);
        fault.instruction >= entry && !line.empty())
      place += " (" + line + ")";
    throw Error(
        "kernel `" + name + "`: " + fault.text() + place,
        "try --device sim:sm_80 (or TESSERA_DEVICE=sim:sm_80), which checks "
        "every access, also to memory that is there; what other programs "
        "wrote stays");
  }

  // Describes where an address is relative to the nearest argument.
  std::string placeOf(uintptr_t address, std::span<const Arg> args) const {
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx",
                  static_cast<unsigned long long>(address));
    std::string nearest = std::string("at ") + hex;
    uintptr_t least = UINTPTR_MAX;
    auto offer = [&](uintptr_t distance, const char *where,
                     const std::string &name) {
      if (distance >= least)
        return;
      least = distance;
      nearest = std::to_string(distance) + where + name + "`";
    };
    for (size_t i = 0; i < slots.size(); ++i) {
      const Pointer *pointer = std::get_if<Pointer>(&args[slots[i].argument]);
      if (!pointer || pointer->bytes == Pointer::unknown)
        continue;
      const auto begin = reinterpret_cast<uintptr_t>(pointer->address);
      // Inside of an argument: the memory was freed or is read-only.
      if (address - begin < pointer->bytes)
        return "inside of `" + names[i] + "`";
      // The subtractions wrap, so only one of the two distances is small.
      offer(begin - address, " bytes before the start of `", names[i]);
      offer(address - (begin + pointer->bytes), " bytes after the end of `",
            names[i]);
    }
    return nearest;
  }

  struct Slot {
    uint32_t argument; // index into the launch's arguments
    bool isFloat32;
  };

  CpuModule module;
  std::string name;
  size_t scratchBytes = 0;
  LineTable lines;
  WorkEstimate work;
  std::vector<Slot> slots;
  std::vector<std::string> names; // of the slots' parameters, for errors
  bool reports = false;           // takes a Report in one more slot
};

class CpuDevice : public LaunchDevice {
public:
  CpuDevice() : LaunchDevice("cpu") {}
  const std::string &target() const override { return hostTarget(); }
  bool isCpu() const override { return true; }
  std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const override {
    return loadCpuKernel(compiled, kernel, parameters);
  }
};

} // namespace

void registerCpuDevice() { registerDevice(std::make_unique<CpuDevice>()); }

std::shared_ptr<LoadedKernel>
loadCpuKernel(const CompiledKernel &compiled, const std::string &kernel,
              const std::vector<std::string> &parameters) {
  return std::make_shared<CpuKernel>(compiled, kernel, parameters);
}

} // namespace tessera::runtime
