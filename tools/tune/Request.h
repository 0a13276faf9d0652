// tools/tune/Request.h - the arguments of tessera tune.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::tools {

struct TuneSearch {
  std::string config; // of a training run
  // Settings of the run with --config, else the file of a pattern and settings,
  // or folders of recorded launches.
  std::vector<std::string> rest;
  std::string kernels, device = "cpu", budget = "2m", out;
  std::string gpu; // predict for another machine
  bool resume = false;
};

// Returns the command line of this search.
std::string commandLine(const TuneSearch &search);

} // namespace tessera::tools
