// tools/bench/Isolated.h - runs benchmarks on a GPU in a separate process,
// because they may crash it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/bench/Options.h"

namespace tessera::bench {

// Runs the verb in another process. A measurement that hangs for longer than
// Options::timeout or crashes ends that process: its row contains the reason,
// and another process continues with the next measurement. Returns the verb's
// exit status. Throws Error. Call this before torch or a driver is used.
int runIsolatedVerb(const Options &options, int (*verb)(Run &));

} // namespace tessera::bench
