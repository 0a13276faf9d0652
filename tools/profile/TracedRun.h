// tools/profile/TracedRun.h - runs the first steps of a training run with a
// trace.
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

// Runs the steps 1 to `last` with `tessera train` in a temporary folder, with a
// line of progress, and removes the folder. Throws Error, with the message of
// the run if it failed.
RunTrace traceSteps(const TracedSteps &steps);

// Installs handlers of SIGINT and SIGTERM; after such a signal
// throwIfInterrupted() throws Error.
void noteInterrupts();
void throwIfInterrupted();

} // namespace tessera::tools
