// ops/launch/PythonInterrupt.h - an interrupted launch as Python's
// KeyboardInterrupt.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cpu/Interrupt.h"

namespace tessera::runtime {

// Throws what Python makes its exception of; in other processes `interrupted`.
[[noreturn]] void raiseForPython(const LaunchInterrupted &interrupted);

// Runs `launch`. In a Python process an interrupt (LaunchInterrupted) becomes
// what the host's handler of SIGINT raises, KeyboardInterrupt by default, or
// RuntimeError where that raises nothing. Elsewhere it is passed on.
template <typename Launch>
void runForPython(const Launch &launch) {
  try {
    launch();
  } catch (const LaunchInterrupted &interrupted) {
    raiseForPython(interrupted);
  }
}

} // namespace tessera::runtime
