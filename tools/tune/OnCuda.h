// tools/tune/OnCuda.h - tessera tune --device cuda.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Search.h"
#include "tools/tune/Request.h"

namespace tessera::tools {

// Records the launches on the cpu, compiles every configuration for the GPU of
// this machine, compares their results and times them there, in a process that
// a faulty configuration cannot take down (tools/gpucheck), and adds what it
// finds to the table of `options`. At most half of the budget goes to
// compiling. TABLE.work holds recording, code and times until all is done, so
// that --resume continues with them. Gives the exit status: 130 when Ctrl-C
// ended it. Throws Error.
int tuneOnCuda(const TuneSearch &search, const tune::SearchOptions &options);

} // namespace tessera::tools
