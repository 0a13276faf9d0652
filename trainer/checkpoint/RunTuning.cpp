// trainer/checkpoint/RunTuning.cpp - the tuning table of a run and the
// configurations of its launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/RunTuning.h"

#include "trainer/parallel/SameTable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {

using nlohmann::json;

RunTuning tuningOf(models::Kernels &kernels, at::Device device) {
  return {kernels.tuningTable(device), kernels.tunedLaunches()};
}

TuningCoverage coverageOf(const RunTuning &tuning) {
  TuningCoverage coverage;
  for (const models::TunedLaunch &launch : tuning.launches)
    ++(launch.source == "tuned"     ? coverage.tuned
       : launch.source == "rounded" ? coverage.nearest
                                    : coverage.defaults);
  return coverage;
}

std::string coverageLine(const RunTuning &tuning) {
  if (tuning.launches.empty())
    return {};
  const TuningCoverage coverage = coverageOf(tuning);
  return fmt::format("tuning: of {} launches {} have a tuned configuration, {} "
                     "that of the nearest length, {} the default; {}",
                     tuning.launches.size(), coverage.tuned, coverage.nearest,
                     coverage.defaults, describe(tuning.table));
}

json toJson(const RunTuning &tuning) {
  const TuningCoverage coverage = coverageOf(tuning);
  json launches = json::array();
  for (const models::TunedLaunch &one : tuning.launches)
    launches.push_back(
        json::array({one.launch, one.configuration, one.source}));
  return {{"table",
           {{"path", tuning.table.path},
            {"origin", tuning.table.origin},
            {"sha256", tuning.table.sha256}}},
          {"coverage",
           {{"tuned", coverage.tuned},
            {"nearest_length", coverage.nearest},
            {"default", coverage.defaults}}},
          {"launches", launches}};
}

} // namespace tessera::trainer
