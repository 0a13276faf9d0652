// replay/packed/PackedTuning.h - the configurations of a packed case, compiled.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// CASE/tuning.json: {"version": 1, "targets": {NAME: {"key": {"kernel", "text",
// "dtypes", "constexprs", "sequence"}, "tokens": of the recording,
// "candidates": [{"use": {"constexprs", "num_warps", "num_stages"}, "grid",
// "meta", "cubin": BLOB, "ptx": BLOB}], "left_out": [{"use", "why"}]}}}. A
// candidate has code of one form at least; blobs: PackedTensors.h.
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cases {

struct PackedCandidate {
  tune::TuneChoice use;
  Grid grid = {1, 1, 1};
  language::ArtifactMeta meta;
  std::string cubin, ptx; // names of blobs; empty: none
};

struct PackedTuning {
  tune::TuneKey key;
  int64_t tokens = 0; // LaunchOptions::sequence of the recording
  // The first is the kernel's own choice.
  std::vector<PackedCandidate> candidates;
  // What cannot be tried, with the reason.
  std::vector<std::pair<tune::TuneChoice, std::string>> leftOut;
};

// The code of a candidate as blobs. `withPtx`: also the PTX of one that has
// machine code, for a driver that does not take that. Throws Error.
PackedCandidate packCandidate(const std::filesystem::path &folder,
                              const tune::TuneChoice &use, const Grid &grid,
                              const runtime::CompiledKernel &compiled,
                              bool withPtx);

// Adds a target to the case's tuning.json. Throws Error.
void packTuning(const std::filesystem::path &folder, const std::string &target,
                const PackedTuning &tuning);

// None where the case has no tuning.json or that has not the target. Throws
// Error for one that is wrong.
std::optional<PackedTuning> readTuning(const std::filesystem::path &folder,
                                       const std::string &target);
// In order; none for a case without tuning.json.
std::vector<std::string> tuningTargets(const std::filesystem::path &folder);

runtime::CompiledKernel readCandidate(const std::filesystem::path &folder,
                                      const PackedCandidate &candidate);

} // namespace tessera::cases
