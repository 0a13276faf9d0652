// runtime/torch/PythonInterrupt.h - an interrupted launch as Python's
// KeyboardInterrupt. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace tessera::runtime {

// Runs `launch`. In a Python process an interrupt (LaunchInterrupted) becomes
// what the host's handler of SIGINT raises, KeyboardInterrupt by default, or
// RuntimeError where that raises nothing. Elsewhere it is passed on.
void runForPython(const std::function<void()> &launch);

} // namespace tessera::runtime
