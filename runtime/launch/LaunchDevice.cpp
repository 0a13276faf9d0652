// runtime/launch/LaunchDevice.cpp - what kernels run on, by name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchDevice.h"

#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Names.h"
#include "support/Options.h"

#include <atomic>

namespace tessera {

namespace runtime {

namespace {

const std::vector<LaunchDevice> &devices() {
  static const auto *const list = [] {
    auto *made = new std::vector<LaunchDevice>{{DeviceType::Cpu, 0, "cpu", ""}};
    for (const std::string &target : GpuTarget::names())
      made->push_back({DeviceType::Simulator, uint8_t(made->size()),
                       "sim:" + target, target});
    made->push_back({DeviceType::Cuda, uint8_t(made->size()), "cuda", ""});
    return made;
  }();
  return *list;
}

// Null until someone asks or chooses.
std::atomic<const LaunchDevice *> chosen{nullptr};

} // namespace

const LaunchDevice &findLaunchDevice(const std::string &name) {
  for (const LaunchDevice &device : devices())
    if (device.name == name) {
      targetOf(device); // throws where there is no such machine
      return device;
    }
  throw Error("there is no device `" + name + "`",
              nearestNameHint(name, deviceNames(), "devices"));
}

const LaunchDevice &launchDevice(const LaunchOptions &options) {
  if (!options.device.empty())
    return findLaunchDevice(options.device);
  if (const LaunchDevice *device = chosen.load(std::memory_order_acquire))
    return *device;
  const LaunchDevice *found = nullptr;
  try {
    found = &findLaunchDevice(optionText(Option::Device));
  } catch (const Error &error) {
    throw Error("TESSERA_DEVICE: " + error.message, error.hint);
  }
  const LaunchDevice *none = nullptr;
  chosen.compare_exchange_strong(none, found);
  return none ? *none : *found;
}

const std::string &targetOf(const LaunchDevice &device) {
  switch (device.type) {
  case DeviceType::Cpu:
    return hostTarget();
  case DeviceType::Cuda:
    return cuda::Driver::instance().target();
  case DeviceType::Simulator:
    break;
  }
  return device.target;
}

} // namespace runtime

const std::string &defaultDevice() { return runtime::launchDevice({}).name; }

void setDefaultDevice(const std::string &device) {
  runtime::chosen.store(&runtime::findLaunchDevice(device),
                        std::memory_order_release);
}

std::vector<std::string> deviceNames() {
  std::vector<std::string> names;
  for (const runtime::LaunchDevice &device : runtime::devices())
    names.push_back(device.name);
  return names;
}

std::string deviceTarget(const std::string &device) {
  return runtime::targetOf(runtime::findLaunchDevice(device));
}

} // namespace tessera
