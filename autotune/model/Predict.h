// autotune/model/Predict.h - predicts configurations for a GPU you do not have.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Devices.h"
#include "autotune/search/Search.h"

namespace tessera::tune {

// A candidate replaces the kernel's default configuration if its predicted time
// is this much better. The typical error of a prediction is a quarter
// (docs/cost-model.md).
inline constexpr double leastPredictedGain = 1.3;

// Fills a table with predicted configurations; measures nothing. Each job gets
// an equal share of the remaining time. Candidates are compiled for the GPU,
// and a few blocks of each run on the simulator with all checks. Their results
// are compared with the recording, and their counters give a predicted time.
// Entries are marked as predicted. Otherwise like search(), with
// `options.device` of `gpu`; `jobs` come from loadJobs() for "sim:TARGET".
SearchResult predictTable(std::vector<Job> &jobs, const SearchOptions &options,
                          const GpuData &gpu,
                          const std::atomic<bool> &interrupted,
                          const std::function<void(const JobReport &)> &done);

} // namespace tessera::tune
