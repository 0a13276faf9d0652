// runtime/launch/ListLaunches.cpp - collects the launches of a program.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/ListLaunches.h"

#include "runtime/launch/KernelState.h"
#include "runtime/launch/Parts.h"

#include <map>
#include <mutex>
#include <utility>

namespace tessera::runtime {

static thread_local int64_t lastListed = -1;

class LaunchListing::List : public LaunchHook {
public:
  List(Launches launches, LaunchHook *next) : launches(launches), next(next) {}

  bool takes(const Kernel &kernel, const Kernel::State &state,
             std::span<const Arg> args, const Constexprs &constexprs,
             const LaunchOptions &options) override {
    LaunchKey key;
    // Includes the argument values if the kernel's heuristics read them.
    state.beginKey(key, launchDevice(options), args, options,
                   state.keyHasValues());
    addConstexprs(key, constexprs);
    {
      const std::lock_guard guard(mutex);
      const auto [place, isNew] =
          seen.try_emplace({&state, key.copy()}, int64_t(listed.size()));
      if (isNew)
        listed.push_back(
            {kernel, {args.begin(), args.end()}, constexprs, options});
      lastListed = place->second;
    }
    return launches == Launches::Skipped ||
           (next && next->takes(kernel, state, args, constexprs, options));
  }

  std::unique_ptr<Watched> before(const Kernel::State &kernel, const Grid &grid,
                                  std::span<const Arg> args,
                                  const Constexprs &constexprs,
                                  const LaunchOptions &options) override {
    return next ? next->before(kernel, grid, args, constexprs, options)
                : nullptr;
  }

  std::vector<LaunchRequest> requests() {
    const std::lock_guard guard(mutex);
    return listed;
  }

private:
  const Launches launches;
  LaunchHook *const next;
  std::mutex mutex;
  std::map<std::pair<const void *, std::vector<uint64_t>>, int64_t> seen;
  std::vector<LaunchRequest> listed;
};

// Listing the devices first runs registerParts(), which installs the recorder's
// hook.
static LaunchHook *hookOfParts() {
  static_cast<void>(deviceNames());
  return launchHook();
}

// `list` is initialized before the other members, by their order.
LaunchListing::LaunchListing(Launches launches)
    : list(std::make_unique<List>(launches, hookOfParts())),
      before(launchHook()) {
  setLaunchHook(list.get());
}

LaunchListing::~LaunchListing() { setLaunchHook(before); }

std::vector<LaunchRequest> LaunchListing::requests() const {
  return list->requests();
}

int64_t LaunchListing::last() { return lastListed; }
void LaunchListing::forgetLast() { lastListed = -1; }

} // namespace tessera::runtime
