// autotune/model/SampledGpu.cpp - runs some blocks of a launch on a simulated
// GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/SampledGpu.h"

#include "replay/Buffer.h"
#include "replay/Compare.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace tessera::tune {

namespace {

// Blocks that run beyond the default configuration's share of the grid, where
// neighbouring program ids do not compute neighbouring elements.
constexpr size_t mostNeighbours = 256;

// Returns the recorded storage of an argument after the launch.
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

std::vector<uint64_t> coveringBlocks(const Grid &sampled, const Grid &grid) {
  std::set<uint64_t> chosen;
  for (uint64_t block : sampledBlocks(sampled)) {
    // The candidate's blocks that overlap this one's share of the grid.
    uint64_t first[3], last[3];
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint64_t at = block % sampled[axis];
      block /= sampled[axis];
      first[axis] = at * grid[axis] / sampled[axis];
      last[axis] = ((at + 1) * grid[axis] + sampled[axis] - 1) / sampled[axis];
    }
    for (uint64_t z = first[2]; z < last[2]; ++z)
      for (uint64_t y = first[1]; y < last[1]; ++y)
        for (uint64_t x = first[0]; x < last[0]; ++x)
          chosen.insert(x + grid[0] * (y + uint64_t(grid[1]) * z));
  }
  return {chosen.begin(), chosen.end()};
}

// One launch: the elements that its blocks store, and those of them that are
// results.
struct SampledGpu::Run {
  SampledGpu &gpu;
  const cases::LoadedCase &loaded;
  const std::vector<cases::ArgumentMemory> &memory;
  const cases::GpuLaunch &code;
  sim::Options checks;
  // Per element of `memory`: contents before the launch (empty if the launch
  // must not write it), and bytes per element.
  std::vector<std::string> before = {};
  std::vector<size_t> widths = {};

  bool changed(size_t i, size_t element) const {
    const size_t width = widths[i], at = element * width;
    return std::memcmp(memory[i].begin + at, before[i].data() + at, width) != 0;
  }

  // Returns the first element that must be stored and is not yet: argument and
  // element.
  std::optional<std::pair<size_t, size_t>> missing(size_t *count = nullptr) {
    std::optional<std::pair<size_t, size_t>> first;
    for (size_t i = 0; i < memory.size(); ++i) {
      const auto needed = gpu.required.find(memory[i].name);
      if (needed == gpu.required.end() || before[i].empty())
        continue;
      for (size_t k = 0; k < needed->second.size(); ++k) {
        if (!needed->second[k] || changed(i, k))
          continue;
        if (!first)
          first = {i, k};
        if (!count)
          return first;
        *count += first->first == i;
      }
    }
    return first;
  }

  // Returns the number of stored elements that the default configuration's
  // blocks do not store.
  size_t others() const {
    size_t count = 0;
    for (size_t i = 0; i < memory.size(); ++i) {
      const auto needed = gpu.required.find(memory[i].name);
      if (needed == gpu.required.end() || before[i].empty())
        continue;
      for (size_t k = 0; k < needed->second.size(); ++k)
        count += !needed->second[k] && changed(i, k);
    }
    return count;
  }

  void launch(const std::vector<uint64_t> &blocks) {
    sim::Options options = checks;
    options.serial = true;
    options.blocks = blocks;
    const sim::Report report = code.launch.run(options);
    if (!report.ok())
      throw cases::LaunchFault(report.findings[0].text());
  }

  // Runs the blocks of the default configuration's share of the grid, then
  // their neighbours, until all required elements are stored.
  void cover() {
    const Grid &grid = code.launch.grid;
    const uint64_t all = uint64_t(grid[0]) * grid[1] * grid[2];
    const std::vector<uint64_t> sampled = sampledBlocks(grid);
    std::set<uint64_t> done(sampled.begin(), sampled.end());
    const std::vector<uint64_t> share = coveringBlocks(gpu.requiredGrid, grid);
    std::set<uint64_t> next(share.begin(), share.end());
    const size_t most = done.size() + share.size() + mostNeighbours;
    size_t earlier = others();
    for (uint64_t distance = 1; missing() && done.size() < most; ++distance) {
      for (uint64_t block : done)
        next.erase(block);
      if (!next.empty())
        launch({next.begin(), next.end()});
      done.insert(next.begin(), next.end());
      // Continues only while blocks store other elements: a block that stores
      // the missing elements would also store their neighbours.
      const size_t now = others();
      if (done.size() == all || now == earlier)
        return;
      earlier = now;
      next.clear();
      for (uint64_t block : share) {
        if (block >= distance)
          next.insert(block - distance);
        if (block + distance < all)
          next.insert(block + distance);
      }
    }
  }

  // True if the element's value is a result. In launches with atomics, that is
  // an element which no block reads and which has the recorded value in the
  // default configuration's launch.
  bool isResult(size_t i, DType type, double limit, size_t element,
                const std::string &after) const {
    const auto needed = gpu.required.find(memory[i].name);
    if (needed != gpu.required.end())
      return element < needed->second.size() && needed->second[element];
    const size_t width = widths[i];
    const cases::Elements got{type, {memory[i].begin + element * width, width}},
        want{type, {after.data() + element * width, width}};
    return cases::isFloat(type) ? cases::compareRms(got, want, limit).ok
                                : cases::compareExact(got, want).ok;
  }

  // Records which elements are stored, and gives all others their recorded
  // results. `sums`: blocks add to memory atomically.
  void finish(size_t i, bool sums) {
    const cases::ArgumentMemory &one = memory[i];
    const cases::CaseArgument &argument = *loaded.recorded.find(one.name);
    const std::string after = recordedAfter(loaded, argument);
    const size_t width = widths[i],
                 count = std::min(one.bytes, after.size()) / width;
    const bool filled = loaded.filled.contains(one.name);
    const double limit = cases::rmsLimit(loaded.recorded, argument,
                                         loaded.kernelText, loaded.tf32);
    std::vector<bool> &stored = gpu.stored[one.name];
    stored.assign(count, false);
    bool any = false;
    for (size_t k = 0; k < count; ++k) {
      const bool result =
          changed(i, k) &&
          (!sums || (filled && isResult(i, *argument.type, limit, k, after)));
      stored[k] = sums && filled ? result : changed(i, k);
      any = any || stored[k];
      if (!result)
        std::memcpy(one.begin + k * width, after.data() + k * width, width);
    }
    if (sums && filled && !any)
      throw cases::LaunchFault("`" + one.name +
                               "` is added to: its old contents count");
  }
};

void SampledGpu::run(const cases::LoadedCase &loaded,
                     const cases::PreparedLaunch &launch,
                     const std::vector<cases::ArgumentMemory> &memory, bool) {
  LaunchOptions options = launch.options;
  options.device = findDevice(text);
  const cases::GpuLaunch code =
      cases::gpuLaunch(*launch.kernel, boundArguments(launch, memory),
                       launch.constexprs, options, loaded.recorded.grid);
  Run run{*this, loaded, memory, code, {}};
  run.checks.maxInstructions = most;
  for (const cases::ArgumentMemory &one : memory) {
    run.before.emplace_back(one.written ? std::string(one.begin, one.bytes)
                                        : "");
    run.widths.push_back(
        cases::elementBytes(*loaded.recorded.find(one.name)->type));
  }
  last = profileLaunch(code, run.checks);
  spilled = code.spilledBytes;
  std::string problem;
  if (run.missing()) {
    run.cover();
    size_t count = 0;
    if (const auto first = run.missing(&count))
      problem = "`" + memory[first->first].name +
                "`: " + std::to_string(count) +
                " elements are not stored that the blocks of the kernel's "
                "default configuration store, the first is element " +
                std::to_string(first->second) + " of its storage";
  }
  // With atomics, the sum of the sampled blocks differs from the sum of all.
  const bool sums =
      std::any_of(last.samples.begin(), last.samples.end(),
                  [](const LaunchProfile::Sample &sample) {
                    return sample.work[unsigned(sim::Class::GlobalAtomic)] > 0;
                  });
  for (size_t i = 0; i < memory.size(); ++i)
    if (memory[i].written)
      run.finish(i, sums);
  if (!problem.empty())
    throw cases::LaunchFault(problem);
}

} // namespace tessera::tune
