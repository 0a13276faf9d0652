// runtime/launch/LaunchDevice.h - the interface of devices, and their registry.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/LoadedKernel.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::runtime {

// A device that kernels run on. One instance exists per name, as long as the
// process lives. Devices register themselves (library/Parts.cpp), so the launch
// code does not depend on them.
class LaunchDevice {
public:
  explicit LaunchDevice(std::string name) : name(std::move(name)) {}
  LaunchDevice(const LaunchDevice &) = delete;
  virtual ~LaunchDevice() = default;

  // Returns the target of the device's kernels. Throws Error if the machine
  // does not have the device.
  virtual const std::string &target() const = 0;
  // Loads code of that target. `parameters` are the names of the arguments, in
  // order. Throws Error for an artifact that does not fit them.
  virtual std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const = 0;
  // True if cpu configurations apply to the device.
  virtual bool isCpu() const { return false; }
  // True if pointer arguments are host addresses.
  virtual bool hostMemory() const { return true; }
  // True if the stream is being captured into a CUDA graph, during which code
  // must not be loaded. Throws Error.
  virtual bool capturing(void * /*stream*/) const { return false; }
  // True if the device executes PTX and ignores cubins.
  virtual bool readsPtx() const { return false; }

  const std::string name;
  uint32_t number = 0; // in the order of registration: for launch keys
};

// Registers a device. Throws std::logic_error if the name is taken.
void registerDevice(std::unique_ptr<LaunchDevice> device);

// Returns the device of a name. Throws Error for an unknown name, with the
// nearest one, and for `cuda` on a machine without a GPU.
const LaunchDevice &findLaunchDevice(const std::string &name);
// Returns the device that the options name, else the default device. Throws
// Error.
const LaunchDevice &launchDevice(const LaunchOptions &options);

} // namespace tessera::runtime
