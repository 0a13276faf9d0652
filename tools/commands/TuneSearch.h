// tools/commands/TuneSearch.h - the part of tessera tune that measures.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/tune/Request.h"

namespace CLI {
class App;
} // namespace CLI

namespace tessera::tools {

void addTuneSearchOptions(CLI::App &verb, TuneSearch &search);

// Whether the command line asks for a search.
bool wantsSearch(const TuneSearch &search);

// Gives the exit status: 130 when Ctrl-C ended it. Throws Error.
int runTuneSearch(const TuneSearch &search);

} // namespace tessera::tools
