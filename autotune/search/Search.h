// autotune/search/Search.h - finds the fastest configurations within a time
// budget.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Job.h"
#include "autotune/search/Trials.h"
#include "autotune/table/TuneTable.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tessera::tune {

struct SearchOptions {
  std::chrono::seconds budget{120}; // of all launches together
  // The table; entries are added to an existing one. The search also writes the
  // times of configurations (timesFile()) and FILE.failed, a folder with a case
  // for each candidate that crashed, did not finish in time or gave wrong
  // results.
  std::filesystem::path out;
  bool resume = false; // reuses known times
  DeviceModel device;
  TuneProvenance provenance;
};

// The result of one job.
struct JobReport {
  TuneKey key;
  std::optional<TuneEntry> entry; // nullopt: not measured
  TuneChoice own;                 // the kernel's default configuration
  size_t candidates = 0, timed = 0;
  struct Excluded {
    TuneChoice choice;
    std::string why;
    std::string reproduce; // a command; may be empty
  };
  std::vector<Excluded> excluded;
  bool drifted = false;
  double othersBusy = 0;
  // Why `entry` is missing, for example unsteady times (Contest::unsteady()).
  // Empty if the default configuration was not timed:
  // no time was left, the search was interrupted, or a measurement failed.
  std::string error;
};

struct SearchResult {
  TuneTable table;
  std::vector<JobReport> reports; // in the order of the jobs
  bool interrupted = false;
};

// Tunes all jobs. Each job gets an equal share of the remaining time. The
// candidates with correct results compete (Contest.h). The candidate with the
// smallest median time becomes the entry if it is clearly faster than the
// kernel's default configuration (Contest::winsAgainst); otherwise the default
// configuration does. The table and the times are written after every job, and
// when `interrupted` ends the search. Calls `done` with each report. Throws
// Error if the files cannot be written.
SearchResult search(std::vector<Job> &jobs, const SearchOptions &options,
                    const std::atomic<bool> &interrupted,
                    const std::function<void(const JobReport &)> &done);

} // namespace tessera::tune
