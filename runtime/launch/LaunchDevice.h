// runtime/launch/LaunchDevice.h - what kernels run on, by name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/LoadedKernel.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::runtime {

// There is one of each name, as long as the process lives. Devices register
// themselves (library/Parts.cpp), so that launches know none of them.
class LaunchDevice {
public:
  explicit LaunchDevice(std::string name) : name(std::move(name)) {}
  LaunchDevice(const LaunchDevice &) = delete;
  virtual ~LaunchDevice() = default;

  // What its kernels are compiled for. Throws Error where there is no such
  // machine.
  virtual const std::string &target() const = 0;
  // Code of that target, ready to run; `parameters` are the names that
  // arguments go by, in order. Throws Error for an artifact that does not fit.
  virtual std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const = 0;
  // Whether the configurations of the cpu are for it.
  virtual bool isCpu() const { return false; }
  // Whether pointers are the host's.
  virtual bool hostMemory() const { return true; }
  // Whether what is launched on the stream becomes part of a CUDA graph, whose
  // capture loading of code would break. Throws Error.
  virtual bool capturing(void * /*stream*/) const { return false; }
  // Whether it reads PTX and has no use for a cubin.
  virtual bool readsPtx() const { return false; }

  const std::string name;
  uint32_t number = 0; // in the order of registration: for launch keys
};

// Throws std::logic_error when there is one of that name.
void registerDevice(std::unique_ptr<LaunchDevice> device);

// Throws Error with the nearest name, and for `cuda` where there is no GPU.
const LaunchDevice &findLaunchDevice(const std::string &name);
// The one that the options name, else the default. Throws Error.
const LaunchDevice &launchDevice(const LaunchOptions &options);

} // namespace tessera::runtime
