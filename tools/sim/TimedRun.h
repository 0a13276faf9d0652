// tools/sim/TimedRun.h - runs a launch on the simulator with a time limit and
// progress, for `analyze` and `debug`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/SimLaunch.h"

#include <cstdint>
#include <string>

namespace tessera::tools {

struct TimedReport : sim::Report {
  std::string hint; // what to do, if the time limit stopped the launch
};

// Runs the launch. After `seconds` the simulator stops it with the finding
// endless-loop. Prints progress on stderr if the launch takes more than two
// seconds. Throws Error as sim::Module::launch() does.
TimedReport runWithin(const cases::SimLaunch &launch, sim::Options options,
                      int64_t seconds);
// Prints the findings and the hint on stderr.
void printFindings(const TimedReport &report);

} // namespace tessera::tools
