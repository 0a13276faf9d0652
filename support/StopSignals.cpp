// support/StopSignals.cpp - the first Ctrl-C requests an orderly exit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/StopSignals.h"

#include <csignal>

namespace tessera {

// A handler may write atomics that need no lock.
static std::atomic<int> stopSignal{0};
static std::atomic<bool> stopRequested{false};
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

extern "C" {
static void rememberStopSignal(int number) {
  stopSignal = number;
  stopRequested = true;
}
}

StopSignals::StopSignals() {
  stopSignal = 0;
  stopRequested = false;
  struct sigaction action = {};
  action.sa_handler = rememberStopSignal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (const int number : {SIGINT, SIGTERM})
    ::sigaction(number, &action, nullptr);
}

StopSignals::~StopSignals() {
  for (const int number : {SIGINT, SIGTERM})
    std::signal(number, SIG_DFL);
}

int StopSignals::received() { return stopSignal; }

const std::atomic<bool> &StopSignals::isSet() { return stopRequested; }

} // namespace tessera
