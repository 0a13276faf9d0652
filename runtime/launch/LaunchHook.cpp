// runtime/launch/LaunchHook.cpp - the registered launch hook.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/Parts.h"

#include <atomic>

namespace tessera::runtime {

static std::atomic<LaunchHook *> current{nullptr};

void setLaunchHook(LaunchHook *hook) {
  current.store(hook, std::memory_order_release);
}

LaunchHook *launchHook() { return current.load(std::memory_order_acquire); }

} // namespace tessera::runtime
