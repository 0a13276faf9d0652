// trainer/checkpoint/RunTuning.h - the tuning table of a run and the
// configurations of its launches, as env.json and checkpoints record them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::trainer {

/// The tuning table of a run, and the launches that the run has prepared.
struct RunTuning {
  models::TuningTable table;
  std::vector<models::TunedLaunch> launches;
};
RunTuning tuningOf(models::Kernels &kernels, at::Device device);

/// How many launches use an entry of their length, the entry of the nearest
/// length (the next power of two), and the kernel's default configuration.
struct TuningCoverage {
  int64_t tuned = 0, nearest = 0, defaults = 0;
};
TuningCoverage coverageOf(const RunTuning &tuning);

/// Returns a line with the coverage and the table; empty without launches.
std::string coverageLine(const RunTuning &tuning);

/// Returns {"table": {"path", "origin", "sha256"}, "coverage": {"tuned",
/// "nearest_length", "default"}, "launches": [[launch, configuration, "tuned",
/// "rounded" or "default"]...]}. The members of "table" are empty without a
/// table.
nlohmann::json toJson(const RunTuning &tuning);

} // namespace tessera::trainer
