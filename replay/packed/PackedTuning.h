// replay/packed/PackedTuning.h - compiled candidate configurations of a packed
// case.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// CASE/tuning.json: {"version": 1, "targets": {NAME: {"key": {"kernel", "text",
// "dtypes", "constexprs", "sequence"}, "tokens": of the recording,
// "candidates": [{"use": {"constexprs", "num_warps", "num_stages"}, "grid", and
// the members of packCode()}], "left_out": [{"use", "why"}]}}}.
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/Kernel.h"
#include "support/Json.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cases {

struct PackedCandidate {
  tune::TuneChoice use;
  Grid grid = {1, 1, 1};
  Json code; // packCode()
};

struct PackedTuning {
  tune::TuneKey key;
  int64_t tokens = 0; // LaunchOptions::sequence of the recording
  // The first is the kernel's default configuration.
  std::vector<PackedCandidate> candidates;
  // Configurations that cannot be tried, with the reason.
  std::vector<std::pair<tune::TuneChoice, std::string>> leftOut;
};

// Adds a target to the case's tuning.json. Throws Error.
void packTuning(const std::filesystem::path &folder, const std::string &target,
                const PackedTuning &tuning);

// Returns a target's candidates, or nullopt if tuning.json is missing or does
// not contain the target. Throws Error for an invalid file.
std::optional<PackedTuning> readTuning(const std::filesystem::path &folder,
                                       const std::string &target);
// Returns the targets in order; none for a case without tuning.json.
std::vector<std::string> tuningTargets(const std::filesystem::path &folder);

} // namespace tessera::cases
