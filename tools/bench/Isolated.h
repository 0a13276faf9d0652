// tools/bench/Isolated.h - benchmarks on a GPU in a process that they may
// break.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/bench/Options.h"

namespace tessera::bench {

// Runs the verb in another process. A measurement that hangs for longer than
// Options::timeout or crashes ends that process: its row contains the reason,
// and another process continues with the next measurement. Returns the verb's
// exit status. Throws Error. To be called before torch or a driver is used.
int runIsolatedVerb(const Options &options, int (*verb)(Run &));

} // namespace tessera::bench
