// autotune/search/TuneLaunches.h - iterates over launches and fills a table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Search.h"
#include "autotune/search/TableEntry.h"
#include "autotune/search/TableFile.h"
#include "support/Progress.h"

namespace tessera::tune {

// Shared by search() and predictTable(). Each job gets an equal share of the
// remaining time, its entry replaces older ones, and the table is written after
// each job.
class Run {
public:
  // Throws Error, see TableFile.
  Run(std::vector<Job> &jobs, const SearchOptions &options,
      const std::atomic<bool> &interrupted);
  virtual ~Run() = default;
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  SearchResult run(const std::function<void(const JobReport &)> &done);

protected:
  // Fills the report, above all its entry, for a job that has candidates.
  // Tensors are loaded only if it requests them. An Error that it throws
  // becomes the report's.
  virtual void tuneJob(Job &job, Clock::time_point deadline,
                       JobReport &report) = 0;
  // Writes the files that accompany the table.
  virtual void save() {}

  // True if no further job may begin.
  bool over() const { return interrupted || Clock::now() >= end; }
  // Prints a progress line: "tuning 3 of 20, rope: WHAT, at most 80 s left".
  void show(const std::string &doing, const std::string &what);
  // Returns what launches use that get no new entry: "the table keeps its entry
  // BM=64", or the kernel's default configuration.
  std::string kept(const TuneKey &key) const;
  // Writes the launch as a case with a unique name. Returns its folder, or an
  // empty path if it cannot be written, which is logged.
  std::string reproducer(const Job &job, const cases::PreparedLaunch &launch,
                         const Grid &grid, const std::string &number) const;

  const SearchOptions &options;
  const std::atomic<bool> &interrupted;

private:
  JobReport runJob();

  std::vector<Job> &jobs;
  const Clock::time_point end;
  size_t current = 0; // index of the job
  TableFile file;
  Progress progress;
};

} // namespace tessera::tune
