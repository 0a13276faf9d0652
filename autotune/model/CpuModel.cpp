// autotune/model/CpuModel.cpp - how long a launch takes on a processor,
// predicted.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuModel.h"

#include "runtime/launch/LoadedKernel.h"
#include "support/CpuTarget.h"

#include <algorithm>

namespace tessera::tune {

namespace {

// As CpuModule.h has them; no loop's bounds are of floats.
int64_t slotOf(const Arg &arg) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg))
    return int64_t(reinterpret_cast<uintptr_t>(pointer->address));
  if (const int64_t *number = std::get_if<int64_t>(&arg))
    return *number;
  if (const uint64_t *number = std::get_if<uint64_t>(&arg))
    return int64_t(*number);
  const bool *flag = std::get_if<bool>(&arg);
  return flag && *flag;
}

double unitsOf(const CpuWork &work, double programs,
               const CpuConstants &constants) {
  return constants.product * work.products + work.arithmetic +
         constants.scalar * work.scalars + constants.program * programs;
}

} // namespace

double predictedSeconds(const LaunchWork &work, size_t threads,
                        const CpuConstants &constants) {
  const double all = unitsOf(work.all, work.programs, constants),
               largest = unitsOf(work.largest, 1, constants);
  const double used = std::max(double(threads), 1.0);
  return std::max(all / used, largest) * constants.nanoseconds * 1e-9;
}

LaunchWork workOfLaunch(const cases::PreparedLaunch &launch, const Grid &grid,
                        const runtime::CompiledKernel &compiled,
                        const std::string &target, const TimedMemory &memory) {
  const auto loops = compiled.stages.find("loops");
  if (loops == compiled.stages.end())
    throw Error("a kernel without its stage \"loops\"",
                "name the stage in the request");
  const auto parsed = CpuTarget::parse(target);
  const CpuWorkCounter counter(readLoops(loops->second),
                               parsed ? parsed->vectorBits() : 256);
  const std::vector<Arg> args = memory.arguments(launch);
  std::vector<ReadableMemory> readable;
  for (const cases::ArgumentMemory &one : memory.memory())
    readable.push_back({one.begin, one.bytes});
  std::vector<int64_t> slots;
  for (const language::ArtifactParameter &parameter : compiled.meta.params)
    if (parameter.kind != "report")
      slots.push_back(
          slotOf(args[runtime::argumentOf(parameter.name, launch.kernel->name(),
                                          launch.kernel->parameters())]));
  return launchWork(counter, grid, slots, readable);
}

} // namespace tessera::tune
