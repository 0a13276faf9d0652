// autotune/SampledGpu.cpp - some blocks of a launch on a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/SampledGpu.h"

#include "runtime/cases/Buffer.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>

namespace tessera::tune {

namespace {

// The storage that a recording has of an argument after the launch.
std::string recordedAfter(const cases::LoadedCase &loaded,
                          const cases::CaseArgument &argument) {
  const std::string what = (loaded.folder / "after.safetensors").string() +
                           ": tensor `" + argument.name + "`";
  const cases::GuardedBuffer buffer = cases::makeBuffer(
      argument,
      cases::tensorOf(loaded, loaded.after, "after.safetensors", argument),
      what);
  return std::string(buffer.view());
}

} // namespace

LaunchProfile profileLaunch(const cases::GpuLaunch &code,
                            const sim::Options &checks) {
  const cases::SimLaunch &launch = code.launch;
  LaunchProfile profile;
  profile.grid = launch.grid;
  profile.threads = launch.block[0] * launch.block[1] * launch.block[2];
  profile.registers = code.registers;
  profile.sharedBytes = uint64_t(launch.dynamicShared) +
                        launch.module.staticShared(launch.kernel);
  for (const sim::Memory::Range &range : launch.memory.ranges)
    profile.bytes += double(range.bytes);
  const Grid &grid = profile.grid;
  const uint64_t middle =
      grid[0] / 2 + grid[0] * (grid[1] / 2 + uint64_t(grid[1]) * (grid[2] / 2));
  std::vector<uint64_t> blocks = sampledBlocks(grid);
  std::stable_partition(blocks.begin(), blocks.end(),
                        [&](uint64_t block) { return block == middle; });
  for (uint64_t block : blocks) {
    sim::Options options = checks;
    options.serial = true;
    options.blocks = {block};
    const sim::Report report = launch.run(options);
    if (!report.ok())
      throw cases::LaunchFault(report.findings[0].text());
    profile.samples.push_back({placeOf(block, grid), workOf(report.counters)});
    profile.copiesInFlight = std::max(profile.copiesInFlight,
                                      double(report.counters.asyncMaxGroups));
  }
  return profile;
}

void SampledGpu::run(const cases::LoadedCase &loaded,
                     const cases::PreparedLaunch &launch,
                     const std::vector<cases::ArgumentMemory> &memory, bool) {
  LaunchOptions options = launch.options;
  options.device = findDevice(text);
  const cases::GpuLaunch code =
      cases::gpuLaunch(*launch.kernel, boundArguments(launch, memory),
                       launch.constexprs, options, loaded.recorded.grid);
  std::vector<std::string> before;
  for (const cases::ArgumentMemory &one : memory)
    before.emplace_back(one.written ? std::string(one.begin, one.bytes) : "");
  sim::Options checks;
  checks.maxInstructions = most;
  last = profileLaunch(code, checks);
  spilled = code.spilledBytes;
  for (size_t i = 0; i < memory.size(); ++i) {
    const cases::ArgumentMemory &one = memory[i];
    if (!one.written)
      continue;
    const cases::CaseArgument &argument = *loaded.recorded.find(one.name);
    const std::string after = recordedAfter(loaded, argument);
    // A sum over all blocks is not what some of them add up to.
    if (last.samples[0].work[unsigned(sim::Class::GlobalAtomic)] > 0) {
      std::memcpy(one.begin, after.data(), std::min(one.bytes, after.size()));
      continue;
    }
    const size_t width = cases::elementBytes(*argument.type);
    for (size_t at = 0; at + width <= std::min(one.bytes, after.size());
         at += width)
      if (!std::memcmp(one.begin + at, before[i].data() + at, width))
        std::memcpy(one.begin + at, after.data() + at, width);
  }
}

} // namespace tessera::tune
