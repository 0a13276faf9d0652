// runtime/launch/Parts.h - what a build adds to launches: devices, recording.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <memory>
#include <span>

namespace tessera::runtime {

// Registers the devices of this build, cpu first, the tuning tables, and a hook
// where one is wanted. Called once, before the first launch. Defined in
// library/Parts.cpp, the one file that knows all parts.
void registerParts();

// Sees every launch of the process.
class LaunchHook {
public:
  // What a hook keeps of one launch.
  class Watched {
  public:
    virtual ~Watched() = default;
    virtual void finished() = 0; // after a launch that did not throw
  };
  virtual ~LaunchHook() = default;
  // Asked first: true of a launch that the hook takes over. Nothing is
  // compiled then, and nothing runs.
  virtual bool takes(const Kernel & /*kernel*/, const Kernel::State & /*state*/,
                     std::span<const Arg> /*args*/,
                     const Constexprs & /*constexprs*/,
                     const LaunchOptions & /*options*/) {
    return false;
  }
  // Before a launch, which never fails by it. Null: not of interest.
  virtual std::unique_ptr<Watched> before(const Kernel::State &kernel,
                                          const Grid &grid,
                                          std::span<const Arg> args,
                                          const Constexprs &constexprs,
                                          const LaunchOptions &options) = 0;
};

// Null, as at first: none. It must live as long as the process.
void setLaunchHook(LaunchHook *hook);
LaunchHook *launchHook();

} // namespace tessera::runtime
