// tools/pack/Cases.h - packs recorded cases with their compiled GPU code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::tools {

struct PackCasesOptions {
  std::vector<std::string> cases, targets = {"sm_80", "sm_90"};
  std::string out = "packed", commit, tuneKernels, tuneBudget;
  bool tune = false, tunePtx = false, microbenchmarks = false;
  bool isPart = false; // of another command, which runs the folder itself
};

// Writes the folder that docs/gpu-check.md describes, and prints a line for
// each case. Returns the exit status: 1 if a case failed. Throws Error.
int packCases(const PackCasesOptions &options);

} // namespace tessera::tools
