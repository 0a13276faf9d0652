// autotune/search/Search.cpp - finds the fastest configurations within a
// budget.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Search.h"

#include "autotune/search/Contest.h"
#include "autotune/search/TuneLaunches.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace {

// The search among the candidates of one launch.
class JobSearch : public Contest {
public:
  JobSearch(Job &job, Trials &trials, Clock::time_point deadline)
      : job(job), trials(trials), all(trials.all), deadline(deadline) {}

  void search() {
    job.loadTensors();
    if (!waiting())
      return; // all times are known
    // Compilation may use at most half of the time; the rest is for
    // measurements.
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
  bool over() const override {
    return trials.interrupted() || Clock::now() >= deadline;
  }
  std::string remark() const override {
    return trials.drifted ? ", on a machine whose speed changed meanwhile" : "";
  }

  Job &job;
  Trials &trials;
  std::vector<Trial> &all;
  Clock::time_point deadline;
};

// A run with a file of known times.
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
    // An interrupted job is resumed with --resume.
    if (report.error.empty() && !interrupted)
      report.entry = search.entry(job.key);
  }

  void save() override { times.write(timesFile(options.out)); }

  // Returns the command that reproduces a failure, or an empty string for a
  // candidate that does not compile.
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
