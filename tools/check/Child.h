// tools/check/Child.h - runs launches in a child process, because a kernel may
// corrupt its process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace tessera::tools {

// Forks. In the child, returns nullopt, and the child does the work. In this
// process, waits and returns the child's exit status, with which the caller
// exits. If the child is interrupted, this process ends by the same signal; the
// child ends when this process ends. Throws Error if another signal ended the
// child: a kernel wrote to memory of the program. Call this before threads
// exist.
std::optional<int> continueInChild();

// Sets the text of that error, such as "kernel `scale` (N=63)". The last call
// counts.
void nowRunning(const std::string &what);

} // namespace tessera::tools
