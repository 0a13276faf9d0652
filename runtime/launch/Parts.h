// runtime/launch/Parts.h - how a build registers devices, tuning tables and the
// launch hook.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <memory>
#include <span>

namespace tessera::runtime {

// Registers the devices of this build (cpu first), the tuning tables, and a
// launch hook if requested. Called once, before the first launch.
// library/Parts.cpp defines it, so that only that file depends on all
// components.
void registerParts();

// Observes every launch of the process. replay/ records launches through it.
class LaunchHook {
public:
  // The hook's state of one launch.
  class Watched {
  public:
    virtual ~Watched() = default;
    virtual void finished() = 0; // after a launch that did not throw
  };
  virtual ~LaunchHook() = default;
  // Called first. Returns true if the hook takes over the launch; then the
  // kernel is neither compiled nor run.
  virtual bool takes(const Kernel & /*kernel*/, const Kernel::State & /*state*/,
                     std::span<const Arg> /*args*/,
                     const Constexprs & /*constexprs*/,
                     const LaunchOptions & /*options*/) {
    return false;
  }
  // Called before a launch. Must not make it fail. Returns null if the hook
  // ignores the launch.
  virtual std::unique_ptr<Watched> before(const Kernel::State &kernel,
                                          const Grid &grid,
                                          std::span<const Arg> args,
                                          const Constexprs &constexprs,
                                          const LaunchOptions &options) = 0;
};

// Registers the hook; null, the initial value, removes it. The hook must live
// as long as the process.
void setLaunchHook(LaunchHook *hook);
LaunchHook *launchHook();

} // namespace tessera::runtime
