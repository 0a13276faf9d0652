// runtime/launch/LoadedKernel.h - a specialization loaded on a device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::runtime {

class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  // Runs the grid and waits for it; the device cuda only enqueues it on the
  // stream. `args` must be of the classes that the kernel was compiled for.
  // Thread-safe. Throws Error.
  virtual void launch(const Grid &grid, std::span<const Arg> args,
                      void *stream) = 0;
  // Sets the configuration and file that errors report. Called before the first
  // launch.
  virtual void describe(const std::string & /*configuration*/,
                        const std::string & /*file*/) {}
  void launch(const Grid &grid, const std::vector<Arg> &args) {
    launch(grid, args, nullptr);
  }
};

// Returns the index of the argument for a parameter of the artifact. Throws
// Error.
size_t argumentOf(const std::string &parameter, const std::string &kernel,
                  const std::vector<std::string> &parameters);

} // namespace tessera::runtime
