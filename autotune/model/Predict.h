// autotune/model/Predict.h - predicts configurations for a GPU you do not have.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Devices.h"
#include "autotune/search/Search.h"

namespace tessera::tune {

// A prediction is wrong by a quarter where it is as usual (docs/cost-model.md):
// the kernel's own choice yields to one that is predicted this much faster.
inline constexpr double leastPredictedGain = 1.3;

// Of each job an equal part of the time that is left: candidates are compiled
// for the GPU, a few blocks of each run on the simulator with every check, what
// they write is compared with the recording, and their counters give a
// predicted time. Entries are marked as predicted. Nothing is measured. Else
// like search(), with `options.device` of `gpu`; the jobs are those of
// loadJobs() for "sim:TARGET".
SearchResult predictTable(std::vector<Job> &jobs, const SearchOptions &options,
                          const GpuData &gpu,
                          const std::atomic<bool> &interrupted,
                          const std::function<void(const JobReport &)> &done);

} // namespace tessera::tune
