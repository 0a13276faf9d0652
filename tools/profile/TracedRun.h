// tools/profile/TracedRun.h - the first steps of a training run, traced.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tools {

struct TracedSteps {
  std::string config; // file; empty: none
  std::vector<std::string> settings;
  int64_t first = 1, last = 1; // traced; none after them is made
  std::string target;          // GPU that kernels are listed for
};

struct RunTrace {
  Json trace;   // trainer/observe/Trace.h: what Chrome reads
  Json kernels; // the same header's kernels.json
};

// Makes the steps 1 to `last` in a folder of their own, by `tessera train`,
// with a line of progress; nothing of it stays. Throws Error: the run's own
// where it fails.
RunTrace traceSteps(const TracedSteps &steps);

// From now on SIGINT and SIGTERM are noted, and throwIfInterrupted() throws
// Error after one.
void noteInterrupts();
void throwIfInterrupted();

} // namespace tessera::tools
