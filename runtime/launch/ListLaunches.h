// runtime/launch/ListLaunches.h - collects the launches of a program.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

class LaunchHook;

// While a listing lives, it collects the launches of the process. Only one
// listing may exist at a time.
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

  // Returns one request per combination of kernel, argument classes, constexprs
  // and options, in the order of first use; precompile() takes them. Only the
  // alignment of the addresses is meaningful.
  std::vector<LaunchRequest> requests() const;

  // Returns the index in requests() of this thread's last listed launch since
  // forgetLast(); -1 if none.
  static int64_t last();
  static void forgetLast();

private:
  class List;
  const std::unique_ptr<List> list;
  LaunchHook *const before;
};

} // namespace tessera::runtime
