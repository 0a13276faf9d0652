// autotune/search/Search.cpp - finds the fastest configurations within a
// budget.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A job is one recorded launch with its candidates, the configurations to try;
// candidate 0 is the kernel's default. Trials.h compiles, checks and times them
// and Contest.h decides which to time again. For 40 s and a default D with
// candidates A, B and C:
//
//      0 to 20 s   compile D, A, B, C
//     20 to 30 s   check: A has wrong results and is excluded
//     30 to 40 s   time D, B, C alternately: medians 2.0, 1.5, 3.0 ms
//     entry        B if the measurements separate it clearly from D, else D
//
// A step that finishes early leaves its time to the next. --resume reads the
// times of earlier runs and does not measure those configurations again.
#include "autotune/search/Search.h"

#include "autotune/search/Contest.h"
#include "autotune/search/TuneLaunches.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace {

// Searches for the fastest configuration of one launch: compiles, checks and
// times its candidates.
class JobSearch : public Contest {
public:
  JobSearch(Job &job, Trials &trials, Clock::time_point deadline)
      : job(job), trials(trials), all(trials.all), deadline(deadline) {}

  void search() {
    job.loadTensors();
    if (!waiting())
      return; // each candidate has a known result or is excluded
    // Compilation may use half of the time and checks another quarter. The
    // batch with the default configuration is compiled even after the deadline.
    const auto now = Clock::now();
    const auto left = std::max(deadline - now, Clock::duration::zero());
    trials.compile(now + left / 2);
    trials.check(now + left * 3 / 4);
    run();
  }

private:
  bool waiting() const {
    return std::any_of(all.begin(), all.end(), [](const Trial &trial) {
      return trial.state == Trial::State::Waiting;
    });
  }

  size_t size() const override { return all.size(); }
  Standing at(size_t i) const override {
    const Trial &trial = all[i];
    return {&trial.candidate.use, trial.state == Trial::State::Right,
            trial.known,          &trial.seconds,
            trial.sample,         trial.timed()};
  }
  void time(const std::vector<size_t> &which, int rounds) override {
    trials.time(which, rounds, deadline);
  }
  void forget(const std::vector<size_t> &which) override {
    for (size_t i : which) {
      all[i].seconds.clear();
      all[i].samples = 0;
    }
  }
  bool over() const override {
    return trials.interrupted() || Clock::now() >= deadline;
  }
  std::string remark() const override {
    return trials.drifted ? ", while the machine's speed changed" : "";
  }

  Job &job;
  Trials &trials;
  std::vector<Trial> &all;
  Clock::time_point deadline;
};

// Tunes each job by measurement. Reads and writes the file of measured times,
// so that --resume can reuse them.
class Searcher : public Run {
public:
  Searcher(std::vector<Job> &jobs, const SearchOptions &options,
           const std::atomic<bool> &interrupted)
      : Run(jobs, options, interrupted),
        times(Times::read(timesFile(options.out))) {}

private:
  void tuneJob(Job &job, Clock::time_point deadline,
               JobReport &report) override {
    Trials trials(job, interrupted,
                  [&](const std::string &what) { show("tuning", what); });
    if (options.resume)
      trials.recall(times);
    const bool allKnown =
        std::all_of(trials.all.begin(), trials.all.end(),
                    [](const Trial &trial) { return trial.known; });
    if (over() && !allKnown)
      return;
    JobSearch search(job, trials, deadline);
    try {
      search.search();
    } catch (const Error &error) {
      report.error = error.message;
    }
    trials.note(times);
    report.drifted = trials.drifted;
    report.othersBusy = trials.othersBusy;
    for (const Trial &trial : trials.all) {
      report.timed += trial.timed();
      if (trial.state == Trial::State::Excluded)
        report.excluded.push_back(
            {trial.candidate.use, trial.problem, commandFor(job, trial)});
    }
    // An interrupted job gets no entry. `tessera tune --resume` continues it
    // with the times measured so far.
    if (!report.error.empty() || interrupted)
      return;
    report.entry = search.entry(job.key);
    if (const std::string why = search.unsteady(); !why.empty())
      report.error = why + "; " + kept(job.key);
  }

  void save() override { times.write(timesFile(options.out)); }

  // Writes a case that reproduces the failure of `trial` and returns the
  // command that runs it. Returns an empty string if the candidate does not
  // compile, if it failed in an earlier run, or if the case cannot be written.
  std::string commandFor(const Job &job, const Trial &trial) const {
    if (trial.known || trial.timesKey.empty() ||
        trial.problem.starts_with("does not compile"))
      return "";
    const std::string folder = reproducer(
        job, trial.launch, trial.candidate.grid, trial.timesKey.substr(0, 8));
    return folder.empty() ? "" : "tessera replay --timeout 10 " + folder;
  }

  Times times;
};

} // namespace

SearchResult search(std::vector<Job> &jobs, const SearchOptions &options,
                    const std::atomic<bool> &interrupted,
                    const std::function<void(const JobReport &)> &done) {
  return Searcher(jobs, options, interrupted).run(done);
}

} // namespace tessera::tune
