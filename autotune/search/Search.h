// autotune/search/Search.h - finds the fastest configurations within a budget.
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
  // The table: entries are added to one that is there. Beside it lie the times
  // of configurations (timesFile()), and FILE.failed with a case for each
  // candidate that is excluded for what its launch did.
  std::filesystem::path out;
  bool resume = false; // nothing is timed whose time is known
  DeviceModel device;
  TuneProvenance provenance;
};

// What came of one launch.
struct JobReport {
  TuneKey key;
  std::optional<TuneEntry> entry; // none: it was not measured
  TuneChoice own;                 // the kernel's own choice
  size_t candidates = 0, timed = 0;
  struct Excluded {
    TuneChoice choice;
    std::string why;
    std::string reproduce; // a command; empty where there is none
  };
  std::vector<Excluded> excluded;
  bool drifted = false;
  double othersBusy = 0;
  std::string error; // why there is no entry; empty: no time was left
};

struct SearchResult {
  TuneTable table;
  std::vector<JobReport> reports; // in the order of the jobs
  bool interrupted = false;
};

// Each job gets an equal part of the time that is left when its turn comes. The
// candidates of a job that give the right results are timed in turns, the
// slower half is dropped, and the rest timed longer, until the kernel's own
// choice and the best of the others are left, which are timed in turns again. A
// candidate becomes the entry only where it is faster in three turns of four
// (of times from an earlier run: by more than the quartiles of both are apart).
// The table and the times are written after every job, and when `interrupted`
// is set, which ends the search. `done` gets the reports. Throws Error where
// they cannot be written.
SearchResult search(std::vector<Job> &jobs, const SearchOptions &options,
                    const std::atomic<bool> &interrupted,
                    const std::function<void(const JobReport &)> &done);

} // namespace tessera::tune
