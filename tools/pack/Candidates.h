// tools/pack/Candidates.h - compiles every configuration of recorded launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tessera::tools {

struct CandidatesJob {
  std::vector<std::filesystem::path> cases; // as recorded
  std::filesystem::path out;                // holds them packed, by their names
  std::string target;                       // "sm_90"
  std::string kernels;                      // "window_*,rope"; empty: all
  // Also packs PTX if there is machine code, for drivers that reject the
  // latter.
  bool withPtx = false;
  // Time budget for all cases; each gets an equal share of the remaining time.
  // After it, a case gets only the kernel's default configuration. 0: no limit.
  std::chrono::seconds budget{0};
};

// Adds to each packed case the configurations of its search space
// (autotune/search/SearchSpace.h), compiled for the target. Among cases with
// one table key, only the case with the largest grid gets them. A configuration
// that does not compile, or not in time, is kept with the reason. `say`
// receives one line for each case. Returns the number of cases that cannot be
// tuned. Throws Error if no kernel matches.
size_t packCandidates(const CandidatesJob &job,
                      const std::function<void(const std::string &)> &say);

} // namespace tessera::tools
