// trainer/loop/Preflight.h - whether a run is worth starting, from its first
// steps.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

struct Preflight {
  std::vector<std::string> faults; ///< Why not; none: go.
  std::string table;               ///< Lines for people.
};

/// Judges the records of metrics.jsonl that the first `wanted` steps of
/// `config` left, on a machine with so much memory. A step that was skipped, a
/// loss that rises, memory above nine tenths or a loader above a tenth of the
/// time is a fault; speeds are those of the second half of the steps.
Preflight judgePreflight(const Config &config, int64_t wanted,
                         const std::vector<nlohmann::json> &records,
                         int64_t machineBytes);

} // namespace tessera::trainer
