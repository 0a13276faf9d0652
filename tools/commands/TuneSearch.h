// tools/commands/TuneSearch.h - the search of tessera tune, which measures
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/tune/Request.h"

namespace CLI {
class App;
} // namespace CLI

namespace tessera::tools {

void addTuneSearchOptions(CLI::App &verb, TuneSearch &search);

// True if the command line requests a search.
bool wantsSearch(const TuneSearch &search);

// Runs the search. Returns the exit status: 130 after Ctrl-C. Throws Error.
int runTuneSearch(const TuneSearch &search);

} // namespace tessera::tools
