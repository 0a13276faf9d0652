// autotune/search/TuneLaunches.h - what goes through launches and fills a
// table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Search.h"
#include "autotune/search/TableEntry.h"
#include "autotune/search/TableFile.h"
#include "support/Progress.h"

namespace tessera::tune {

// The part of search() and predictTable() that is the same: each job has an
// equal part of the time that is left when its turn comes, its entry takes the
// place of older ones, and the table is written after each.
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
  // Fills what it found out of a job that has candidates, the entry above all.
  // Tensors are loaded where it asks for them. An Error that it throws is the
  // report's.
  virtual void tuneJob(Job &job, Clock::time_point deadline,
                       JobReport &report) = 0;
  // Writes what is kept beside the table.
  virtual void save() {}

  // No job may begin any more.
  bool over() const { return interrupted || Clock::now() >= end; }
  // A line from time to time: "tuning 3 of 20, rope: WHAT, at most 80 s left".
  void show(const std::string &doing, const std::string &what);
  // Writes the launch as a case with a name of its own. Its folder; empty where
  // it cannot be written, which is logged.
  std::string reproducer(const Job &job, const cases::PreparedLaunch &launch,
                         const Grid &grid, const std::string &number) const;

  const SearchOptions &options;
  const std::atomic<bool> &interrupted;

private:
  JobReport runJob();

  std::vector<Job> &jobs;
  const Clock::time_point end;
  size_t current = 0; // of the jobs
  TableFile file;
  Progress progress;
};

} // namespace tessera::tune
