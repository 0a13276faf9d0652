// runtime/launch/LaunchDevice.cpp - the registry of devices.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchDevice.h"

#include "runtime/launch/Parts.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Options.h"

#include <atomic>
#include <mutex>
#include <stdexcept>

namespace tessera {

namespace runtime {

namespace {

// Never destroyed: other threads may launch while the process ends.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<LaunchDevice>> devices;

  const LaunchDevice *find(const std::string &name) {
    std::lock_guard<std::mutex> guard(mutex);
    for (const auto &device : devices)
      if (device->name == name)
        return device.get();
    return nullptr;
  }
};

Registry &bareRegistry() {
  static auto *const registry = new Registry;
  return *registry;
}

// Returns the registry after the build's devices have been registered.
Registry &registry() {
  static std::once_flag once;
  std::call_once(once, registerParts);
  return bareRegistry();
}

// The default device; null until it is first read or set.
std::atomic<const LaunchDevice *> chosen{nullptr};

} // namespace

void registerDevice(std::unique_ptr<LaunchDevice> device) {
  Registry &all = bareRegistry();
  if (all.find(device->name))
    throw std::logic_error("two devices are called " + device->name);
  std::lock_guard<std::mutex> guard(all.mutex);
  device->number = uint32_t(all.devices.size());
  all.devices.push_back(std::move(device));
}

const LaunchDevice &findLaunchDevice(const std::string &name) {
  if (const LaunchDevice *device = registry().find(name)) {
    static_cast<void>(device->target()); // throws without such a machine
    return *device;
  }
  const std::vector<std::string> names = deviceNames();
  const std::string near = nearestName(name, names);
  // `gpu` resembles `cpu`, and means another device.
  if (!near.empty() && near != "cpu")
    throw Error("no device `" + name + "`", "did you mean `" + near + "`?");
  throw Error("no device `" + name + "`",
              "the devices of this program are " + joined(names, ", ") +
                  "; `cuda` is a GPU, `sim:sm_80` a simulated one");
}

static const LaunchDevice &environmentDevice() {
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

const LaunchDevice &launchDevice(const LaunchOptions &options) {
  if (const LaunchDevice *device = options.device.get())
    return *device;
  if (const LaunchDevice *device = chosen.load(std::memory_order_acquire))
    return *device;
  return environmentDevice();
}

} // namespace runtime

DeviceHandle findDevice(const std::string &name) {
  return DeviceHandle(runtime::findLaunchDevice(name));
}

std::string hostMemoryDevice(const std::string &name) {
  const std::string checked = name + ":check";
  return runtime::registry().find(checked) ? checked : name;
}

const std::string &defaultDevice() { return runtime::launchDevice({}).name; }

void setDefaultDevice(const std::string &device) {
  runtime::chosen.store(&runtime::findLaunchDevice(device),
                        std::memory_order_release);
}

std::vector<std::string> deviceNames() {
  runtime::Registry &all = runtime::registry();
  std::lock_guard<std::mutex> guard(all.mutex);
  std::vector<std::string> names;
  for (const auto &device : all.devices)
    names.push_back(device->name);
  return names;
}

std::string deviceTarget(const std::string &device) {
  return runtime::findLaunchDevice(device).target();
}

} // namespace tessera
