// tools/commands/TuneSearch.h - the part of tessera tune that measures.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace tessera::tools {

struct TuneSearch {
  std::string config; // of a training run
  // Settings of the run with --config, else folders of recorded launches.
  std::vector<std::string> rest;
  std::string kernels, device = "cpu", budget = "2m", out;
  std::string gpu; // that is not at hand: predicted, not measured
  bool resume = false;
};

void addTuneSearchOptions(CLI::App &verb, TuneSearch &search);

// Whether the command line asks for a search.
bool wantsSearch(const TuneSearch &search);

// Gives the exit status: 130 when Ctrl-C ended it. Throws Error.
int runTuneSearch(const TuneSearch &search);

} // namespace tessera::tools
