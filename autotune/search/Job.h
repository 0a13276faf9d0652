// autotune/search/Job.h - recorded launches, one for each entry of a table.
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
  cases::LoadedCase loaded; // with its tensors once loadTensors() was called
  std::shared_ptr<const runtime::Description> kernel;
  // Of the kernel's own file, so that what is compiled here is what a training
  // run loads from the cache; with `given` for constexprs.
  cases::PreparedLaunch launch;
  Constexprs given;
  TuneKey key;
  SearchSpace space;

  void loadTensors();
  // The launch with a candidate's constexprs.
  cases::PreparedLaunch with(const Candidate &candidate) const;
};

struct JobList {
  std::vector<Job> jobs; // in the order of their keys
  size_t duplicates = 0; // smaller launches of the same keys
  // "FOLDER: why": launches that cannot be tuned.
  std::vector<std::string> refused;
};

// The recorded launches of the folders; of those with one key, the one of the
// largest grid. `patterns`: names of kernels, "window_*,rope"; empty: all.
// Throws Error when no kernel matches.
JobList loadJobs(const std::vector<std::filesystem::path> &folders,
                 const std::string &patterns, const std::string &device);

} // namespace tessera::tune
