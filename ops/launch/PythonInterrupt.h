// ops/launch/PythonInterrupt.h - converts an interrupted launch to Python's
// KeyboardInterrupt.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cpu/Interrupt.h"

namespace tessera::runtime {

// Throws the error of Python's signal handler; in other processes throws
// `interrupted`.
[[noreturn]] void raiseForPython(const LaunchInterrupted &interrupted);

// Runs `launch`. In a Python process, converts an interrupt (LaunchInterrupted)
// to the exception of the host's SIGINT handler, by default KeyboardInterrupt,
// or to RuntimeError if the handler raises none. Otherwise rethrows it.
template <typename Launch>
void runForPython(const Launch &launch) {
  try {
    launch();
  } catch (const LaunchInterrupted &interrupted) {
    raiseForPython(interrupted);
  }
}

} // namespace tessera::runtime
