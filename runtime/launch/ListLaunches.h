// runtime/launch/ListLaunches.h - what a program launches, as a list.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

class LaunchHook;

// While it lives, launches of the process are put on a list. One at a time.
class LaunchListing {
public:
  enum class Launches {
    Skipped, // Nothing is compiled and nothing runs: what they would have
             // written keeps what it held. Launches are not recorded meanwhile.
    Run,     // They run, and are recorded, as without the list.
  };
  explicit LaunchListing(Launches launches = Launches::Skipped);
  LaunchListing(const LaunchListing &) = delete;
  LaunchListing &operator=(const LaunchListing &) = delete;
  ~LaunchListing();

  // In the order of the first launch, one for each kernel, classes of
  // arguments, constexprs and options: precompile() prepares them. The
  // addresses tell their alignment only.
  std::vector<LaunchRequest> requests() const;

  // The index in requests() of the last launch that this thread made while a
  // list was kept, since it called forgetLast(); -1: none.
  static int64_t last();
  static void forgetLast();

private:
  class List;
  const std::unique_ptr<List> list;
  LaunchHook *const before;
};

} // namespace tessera::runtime
