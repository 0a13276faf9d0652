// runtime/launch/LaunchDevice.h - what kernels run on, by name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <cstdint>
#include <string>

namespace tessera::runtime {

enum class DeviceType : uint8_t { Cpu, Simulator, Cuda };

// There is one of each name, as long as the process lives.
struct LaunchDevice {
  DeviceType type = DeviceType::Cpu;
  uint8_t number = 0; // in the list: tells devices apart in launch keys
  std::string name;
  // Of its code. Empty for those of this machine: see targetOf().
  std::string target;

  bool isCpu() const { return type == DeviceType::Cpu; }
};

// Throws Error with the nearest name, and for `cuda` where there is no GPU.
const LaunchDevice &findLaunchDevice(const std::string &name);
// The one that the options name, else the default. Throws Error.
const LaunchDevice &launchDevice(const LaunchOptions &options);
// What its kernels are compiled for.
const std::string &targetOf(const LaunchDevice &device);

} // namespace tessera::runtime
