// runtime/launch/PreparedLaunch.cpp - one kernel launched again and again.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"
#include "runtime/launch/Parts.h"
#include "support/Error.h"
#include "support/GpuTarget.h"

#include <cassert>

namespace tessera {

// An entry, and the other data that its launch needs.
struct PreparedLaunch::Found {
  runtime::FoundEntry found;
  LaunchOptions options;
};

static std::vector<uint64_t> keyOf(const Constexprs &constexprs) {
  runtime::LaunchKey key;
  runtime::addConstexprs(key, constexprs);
  return key.copy();
}

PreparedLaunch::PreparedLaunch(Kernel kernel, const Constexprs &constexprs,
                               const LaunchOptions &options)
    : ofKernel(std::move(kernel)), constexprs(constexprs), options(options),
      constexprKey(keyOf(constexprs)) {}

PreparedLaunch::~PreparedLaunch() = default;

static Constexprs joined(Constexprs constexprs,
                         std::span<const Dimension> dimensions) {
  for (const Dimension &dimension : dimensions)
    constexprs[std::string(dimension.name)] = dimension.value;
  return constexprs;
}

PreparedLaunch::Found
PreparedLaunch::find(std::span<const Arg> args,
                     std::span<const Dimension> dimensions, bool wideGrid,
                     int64_t sequence) const {
  Kernel::State &state = *ofKernel.state;
  Found result{{}, options};
  result.options.wideGrid |= wideGrid;
  if (sequence)
    result.options.sequence = sequence;
  const runtime::LaunchDevice &device = runtime::launchDevice(options);
  runtime::LaunchKey key;
  state.beginKey(key, device, args, result.options, state.keyHasValues());
  key.add(constexprKey);
  for (const Dimension &dimension : dimensions)
    key.addConstexpr(dimension.name, dimension.value);
  const runtime::LaunchEntry *entry = last.load(std::memory_order_acquire);
  if (entry && runtime::sameKey(entry->key, key.view())) [[likely]] {
    result.found.entry = entry;
    return result;
  }
  entry = state.findEntry(key.view());
  if (entry)
    result.found.entry = entry;
  else
    result.found =
        state.entryOf(key.view(), device, args, joined(constexprs, dimensions),
                      result.options);
  assert(result.found.entry && "entryOf() makes the entry or throws");
  if (!result.found.own)
    last.store(result.found.entry, std::memory_order_release);
  return result;
}

void PreparedLaunch::launch(const Grid &grid, std::span<const Arg> args,
                            std::span<const Dimension> dimensions,
                            int64_t sequence) const {
  launchOn(options.stream, grid, args, dimensions, sequence);
}

void PreparedLaunch::launchOn(void *stream, const Grid &grid,
                              std::span<const Arg> args,
                              std::span<const Dimension> dimensions,
                              int64_t sequence) const {
  Found launch = find(args, dimensions, grid[0] > narrowGrid, sequence);
  launch.options.stream = stream;
  const Kernel::State &state = *ofKernel.state;
  runtime::LaunchHook *const hook = runtime::launchHook();
  if (hook && hook->takes(ofKernel, state, args, joined(constexprs, dimensions),
                          launch.options))
    return;
  runtime::LoadedKernel &kernel =
      state.codeOf(*launch.found.entry, args, launch.options);
  launch.found.entry->route->count();
  if (!hook) [[likely]]
    return kernel.launch(grid, args, stream);
  const auto watched = hook->before(
      state, grid, args, joined(constexprs, dimensions), launch.options);
  kernel.launch(grid, args, stream);
  if (watched)
    watched->finished();
}

void PreparedLaunch::prepare(std::span<const Arg> args) const {
  const Found launch = find(args, {}, false, 0);
  ofKernel.state->codeOf(*launch.found.entry, args, launch.options);
}

language::CompileRequest
PreparedLaunch::compileRequest(std::span<const Arg> args) const {
  return ofKernel.state->request(args, constexprs, options);
}

int64_t PreparedLaunch::constexprOf(std::string_view name,
                                    std::span<const Arg> args,
                                    std::span<const Dimension> dimensions,
                                    int64_t sequence) const {
  const Found launch = find(args, dimensions, false, sequence);
  for (const auto &[constexpr_, value] : launch.found.entry->integers)
    if (constexpr_ == name)
      return value;
  throw Error("kernel " + ofKernel.name() + " has no configuration of " +
                  std::string(name),
              "add a comment such as `# tessera: cpu(" + std::string(name) +
                  "=32)` above it");
}

} // namespace tessera
