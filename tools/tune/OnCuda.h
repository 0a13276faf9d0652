// tools/tune/OnCuda.h - tessera tune --device cuda: records, compiles, checks
// and times on this machine's GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Search.h"
#include "tools/tune/Request.h"

namespace tessera::tools {

// Records the launches on the cpu and compiles every configuration for this
// machine's GPU. Compares the results and times the configurations there, in a
// process that a faulty configuration may crash (tools/gpucheck). Adds the
// results to the table of `options`. At most half of the budget is used for
// compiling. TABLE.work holds recording, code and times until all work is done,
// so that --resume can continue with them. Returns the exit status: 130 after
// Ctrl-C. Throws Error.
int tuneOnCuda(const TuneSearch &search, const tune::SearchOptions &options);

} // namespace tessera::tools
