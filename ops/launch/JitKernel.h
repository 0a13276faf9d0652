// ops/launch/JitKernel.h - kernels given as text and identified by a number.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/launch/TensorDevice.h"
#include "runtime/Kernel.h"
#include "runtime/launch/LaunchTable.h"

#include <string>

namespace tessera::runtime {

// A kernel with all of its constexprs, and the order of its arguments.
class JitKernel {
public:
  JitKernel(Kernel kernel, const std::string &order, Constexprs constexprs,
            LaunchOptions options)
      : kernel(std::move(kernel)), order(order),
        constexprs(std::move(constexprs)), options(options) {}

  // Returns the launch for a device, created on first use.
  const PreparedLaunch &on(const TensorDevice &device) const;

  const Kernel kernel;
  // One letter per run-time parameter: t the next tensor, s the next number, b
  // the next number as a bool, n None.
  const std::string order;

private:
  const Constexprs constexprs;
  const LaunchOptions options;
  mutable LaunchTable<PreparedLaunch> devices;
};

} // namespace tessera::runtime
