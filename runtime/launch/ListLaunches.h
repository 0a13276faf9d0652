// runtime/launch/ListLaunches.h - what a program would launch, without running.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <memory>
#include <vector>

namespace tessera::runtime {

class LaunchHook;

// While it lives, launches of the process are put on a list. Nothing is
// compiled and nothing runs: what they would have written keeps what it held.
// One at a time; launches are not recorded meanwhile.
class LaunchListing {
public:
  LaunchListing();
  LaunchListing(const LaunchListing &) = delete;
  LaunchListing &operator=(const LaunchListing &) = delete;
  ~LaunchListing();

  // In the order of the first launch, one for each kernel, classes of
  // arguments, constexprs and options: precompile() prepares them. The
  // addresses tell their alignment only.
  std::vector<LaunchRequest> take();

private:
  class List;
  const std::unique_ptr<List> list;
  LaunchHook *const before;
};

} // namespace tessera::runtime
