// trainer/Signals.cpp - signal handlers that set one flag.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Signals.h"

#include <csignal>

namespace tessera::trainer {
namespace {
volatile std::sig_atomic_t stopSignal = 0;
} // namespace

extern "C" {
static void rememberSignal(int number) { stopSignal = number; }
}

StopSignals::StopSignals() {
  stopSignal = 0;
  struct sigaction action = {};
  action.sa_handler = rememberSignal;
  // Once: whoever presses Ctrl-C again wants out now.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopSignals::received() { return stopSignal; }

} // namespace tessera::trainer
