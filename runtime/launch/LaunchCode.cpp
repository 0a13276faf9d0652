// runtime/launch/LaunchCode.cpp - the entries of a kernel's launch table, and
// the compiled code of each.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

#include "language/ConstexprValues.h"

#include <mutex>

namespace tessera {

using runtime::CompileService;
using runtime::Configuration;
using runtime::LoadedKernel;

namespace runtime {

std::atomic<uint64_t> &memoryHitCounter() {
  static std::atomic<uint64_t> counter{0};
  return counter;
}

} // namespace runtime

// Maximum number of value combinations that a kernel with heuristics remembers.
// Beyond it, every launch evaluates the heuristics: lengths that never repeat
// must not fill memory.
static constexpr size_t mostValueEntries = 1024;

std::shared_ptr<runtime::SpecializedCode>
Kernel::State::codeUnder(runtime::LaunchKey::View key) {
  using Code = std::shared_ptr<runtime::SpecializedCode>;
  if (const Code *found = codes.find(key))
    return *found;
  return codes.insert(key, std::make_unique<Code>(
                               std::make_shared<runtime::SpecializedCode>()));
}

runtime::FoundEntry Kernel::State::entryOf(runtime::LaunchKey::View key,
                                           const runtime::LaunchDevice &device,
                                           std::span<const Arg> args,
                                           const Constexprs &constexprs,
                                           const LaunchOptions &options) {
  if (const runtime::LaunchEntry *found = table.find(key))
    return {found, nullptr};
  requireGpu(device);
  auto made = std::make_unique<runtime::LaunchEntry>();
  made->key.assign(key.begin(), key.end());
  made->device = &device;
  made->constexprs = constexprs;
  made->chosen =
      runtime::chooseConfiguration(device, *this, args, constexprs, options);
  const Configuration all =
      configure(defaults(device, made->chosen), args, constexprs);
  for (const language::Heuristic &heuristic : info.heuristics)
    made->constexprs[heuristic.parameter] =
        language::fromValue(heuristic.parameter, all.at(heuristic.parameter));
  for (const auto &[constexpr_, value] : all)
    if (const auto *number = value.get<language::Int>();
        number && *number >= INT64_MIN && *number <= INT64_MAX)
      made->integers.emplace_back(constexpr_, int64_t(*number));
  runtime::LaunchKey codeKey;
  beginKey(codeKey, device, args, options, false);
  runtime::addConstexprs(codeKey, made->constexprs);
  made->code = codeUnder(codeKey.view());
  if (keyHasValues() && table.size() >= mostValueEntries) {
    const runtime::LaunchEntry *entry = made.get();
    return {entry, std::move(made)};
  }
  return {&table.insert(key, std::move(made)), nullptr};
}

LoadedKernel &Kernel::State::loadCode(const runtime::LaunchEntry &entry,
                                      std::span<const Arg> args,
                                      const LaunchOptions &options) const {
  runtime::SpecializedCode &code = *entry.code;
  std::lock_guard<std::mutex> guard(code.mutex);
  LaunchOptions own = options;
  own.device = DeviceHandle(*entry.device);
  const auto asked = request(args, entry.constexprs, own);
  const bool fresh = !code.kernel;
  if (fresh && entry.device->capturing(options.stream))
    throw Error("kernel `" + name + "` (" + asked.file +
                    ") is not loaded yet, and its stream is being captured "
                    "into a CUDA graph",
                "run the same step once before the capture begins");
  if (code.kernel)
    runtime::memoryHitCounter().fetch_add(1, std::memory_order_relaxed);
  else
    code.kernel = runtime::orNameOrigin(entry.chosen, [&] {
      const auto compiled = CompileService::instance().get(asked);
      return entry.device->load(*compiled, name, parameters);
    });
  if (!entry.route)
    entry.route = &runtime::routeOf(entry.chosen, *entry.device, *this, asked);
  if (fresh)
    code.kernel->describe(entry.route->configuration, asked.file);
  entry.loaded.store(code.kernel.get(), std::memory_order_release);
  return *code.kernel;
}

} // namespace tessera
