// tools/check/Child.h - launches in a process that a kernel may break.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace tessera::tools {

// Forks. The child gets none and does the work; this process waits, and gets
// the child's exit status to end with. A child that is interrupted ends this
// process by the same signal, and ends with this process. Throws Error when
// another signal ended it: a kernel that wrote to memory of the program. To be
// called before there are threads.
std::optional<int> continueInChild();

// For that error: "kernel `scale` (N=63)". The last one counts.
void nowRunning(const std::string &what);

} // namespace tessera::tools
