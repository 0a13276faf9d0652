// autotune/search/Job.h - recorded launches to tune, one per table entry.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/SearchSpace.h"
#include "replay/Device.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tessera::tune {

// A launch to tune.
struct Job {
  cases::LoadedCase loaded; // has tensors after loadTensors()
  std::shared_ptr<const runtime::Description> kernel;
  // Refers to the kernel's original file, so that a training run finds the
  // compiled code in the cache. Its constexprs are `given`.
  cases::PreparedLaunch launch;
  Constexprs given;
  TuneKey key;
  SearchSpace space;

  void loadTensors();
  // Returns the launch with a candidate's constexprs.
  cases::PreparedLaunch with(const Candidate &candidate) const;
};

struct JobList {
  std::vector<Job> jobs; // in the order of their keys
  size_t duplicates = 0; // smaller launches of the same keys
  // "FOLDER: why": launches that cannot be tuned.
  std::vector<std::string> refused;
};

// Loads the recorded launches of the folders. Of several launches with one key,
// keeps the one with the largest grid. `patterns` selects kernels,
// "window_*,rope"; empty: all. Throws Error if no kernel matches.
JobList loadJobs(const std::vector<std::filesystem::path> &folders,
                 const std::string &patterns, const std::string &device);

} // namespace tessera::tune
