// trainer/loop/Preflight.h - decides from the first steps of a run whether to
// start the full run.
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
  std::vector<std::string> faults; ///< Reasons against it; empty: start it.
  std::string table;               ///< The measurements, as text.
};

/// Judges the records in metrics.jsonl of the first `wanted` steps of `config`
/// on a machine with `machineBytes` of memory. Faults are a skipped step, a
/// rising loss, memory use above 90% and more than 10% of the time in the data
/// loader. Speeds are measured in the second half of the steps.
Preflight judgePreflight(const Config &config, int64_t wanted,
                         const std::vector<nlohmann::json> &records,
                         int64_t machineBytes);

} // namespace tessera::trainer
