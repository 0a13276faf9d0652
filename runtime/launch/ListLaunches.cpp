// runtime/launch/ListLaunches.cpp - what a program would launch, without
// running. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/ListLaunches.h"

#include "runtime/launch/KernelState.h"
#include "runtime/launch/Parts.h"

#include <mutex>
#include <set>
#include <utility>

namespace tessera::runtime {

class LaunchListing::List : public LaunchHook {
public:
  bool takes(const Kernel &kernel, const Kernel::State &state,
             std::span<const Arg> args, const Constexprs &constexprs,
             const LaunchOptions &options) override {
    LaunchKey key;
    // The values, too, of kernels whose heuristics see them.
    state.beginKey(key, launchDevice(options), args, options,
                   state.keyHasValues());
    addConstexprs(key, constexprs);
    std::lock_guard<std::mutex> guard(mutex);
    if (seen.insert({&state, key.copy()}).second)
      requests.push_back(
          {kernel, {args.begin(), args.end()}, constexprs, options});
    return true;
  }

  std::unique_ptr<Watched> before(const Kernel::State &, const Grid &,
                                  std::span<const Arg>, const Constexprs &,
                                  const LaunchOptions &) override {
    return nullptr;
  }

  std::vector<LaunchRequest> take() {
    std::lock_guard<std::mutex> guard(mutex);
    seen.clear();
    return std::exchange(requests, {});
  }

private:
  std::mutex mutex;
  std::set<std::pair<const void *, std::vector<uint64_t>>> seen;
  std::vector<LaunchRequest> requests;
};

// A device is asked for first: that is when the recorder becomes the hook.
static LaunchHook *hookOfParts() {
  static_cast<void>(deviceNames());
  return launchHook();
}

LaunchListing::LaunchListing()
    : list(std::make_unique<List>()), before(hookOfParts()) {
  setLaunchHook(list.get());
}

LaunchListing::~LaunchListing() { setLaunchHook(before); }

std::vector<LaunchRequest> LaunchListing::take() { return list->take(); }

} // namespace tessera::runtime
