// tools/tune/Interrupt.cpp - Ctrl-C ends a search in good order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/Interrupt.h"

#include <csignal>

namespace tessera::tools {

namespace {

std::atomic<bool> interrupted{false};

void onInterrupt(int signal) {
  if (interrupted.exchange(true))
    ::signal(signal, SIG_DFL);
}

} // namespace

InterruptFlag::InterruptFlag() {
  struct sigaction action = {};
  action.sa_handler = onInterrupt;
  for (int signal : {SIGINT, SIGTERM})
    ::sigaction(signal, &action, nullptr);
}

InterruptFlag::~InterruptFlag() {
  for (int signal : {SIGINT, SIGTERM})
    ::signal(signal, SIG_DFL);
}

const std::atomic<bool> &InterruptFlag::isSet() { return interrupted; }

} // namespace tessera::tools
