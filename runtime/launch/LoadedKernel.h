// runtime/launch/LoadedKernel.h - a specialization, ready to run on a device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "runtime/launch/LaunchDevice.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  // Runs the grid and waits. `args` are of the classes that the kernel was
  // compiled for. Thread-safe. Throws Error.
  virtual void launch(const Grid &grid, const std::vector<Arg> &args) = 0;
};

// `parameters` are the names that arguments go by, in order. Throws Error for
// an artifact that does not fit.
std::shared_ptr<LoadedKernel>
loadKernel(const LaunchDevice &device, const CompiledKernel &compiled,
           const std::string &kernel,
           const std::vector<std::string> &parameters);

// Index of the argument that a parameter of the artifact takes. Throws Error.
size_t argumentOf(const std::string &parameter, const std::string &kernel,
                  const std::vector<std::string> &parameters);

} // namespace tessera::runtime
