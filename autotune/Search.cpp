// autotune/Search.cpp - finds the fastest configurations within a budget.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/Search.h"

#include "autotune/Gate.h"
#include "autotune/TableFile.h"
#include "support/Error.h"
#include "support/Log.h"
#include "support/Progress.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace fs = std::filesystem;

namespace {

constexpr int firstRounds = 3, mostRounds = 12, lastRounds = 11,
              moreRounds = 22;
// What is this close to the fastest is timed again with it.
constexpr double nearTie = 1.05;
constexpr size_t mostFinalists = 4;

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%", part * 100);
  return text;
}

// The search among the candidates of one launch.
class JobSearch {
public:
  JobSearch(Job &job, Trials &trials, Clock::time_point deadline)
      : job(job), trials(trials), all(trials.all), deadline(deadline) {}

  void run() {
    job.loadTensors();
    if (!waiting())
      return; // everything is known
    // Whatever there is to compile, half of the time is left to measure.
    const auto now = Clock::now();
    const auto left = std::max(deadline - now, Clock::duration::zero());
    trials.compile(now + left / 2);
    trials.check(now + left * 3 / 4);
    halve();
    compareFinalists();
  }

  // None while the kernel's own choice has no time.
  std::optional<TuneEntry> entry() const {
    if (!all[0].timed())
      return std::nullopt;
    const std::vector<size_t> ranked = timedOnes();
    const size_t best = ranked[0];
    const bool wins = best != 0 && winsAgainstOwn(all[best]);
    const size_t chosen = wins ? best : 0;
    TuneEntry entry;
    entry.key = job.key;
    entry.use = all[chosen].candidate.use;
    entry.timeUs = all[chosen].sample.median * 1e6;
    entry.spread = all[chosen].sample.spread;
    entry.defaultUs = all[0].sample.median * 1e6;
    for (size_t i : ranked)
      if (i != chosen && !entry.runnerUp) {
        entry.runnerUp = all[i].candidate.use;
        entry.runnerUpUs = all[i].sample.median * 1e6;
      }
    entry.date = today();
    entry.why = why(ranked, best, wins);
    return entry;
  }

private:
  bool waiting() const {
    return std::any_of(all.begin(), all.end(), [](const Trial &trial) {
      return trial.state == Trial::State::Waiting;
    });
  }

  bool over() const { return trials.interrupted() || Clock::now() >= deadline; }

  static bool usable(const Trial &trial) {
    return trial.state == Trial::State::Right;
  }

  // Fastest first; of equal ones the earlier candidate.
  std::vector<size_t> timedOnes() const {
    std::vector<size_t> list;
    for (size_t i = 0; i < all.size(); ++i)
      if (usable(all[i]) && all[i].timed())
        list.push_back(i);
    std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) {
      return all[a].sample.median < all[b].sample.median;
    });
    return list;
  }

  bool winsAgainstOwn(const Trial &trial) const {
    const double apart = std::max(trial.sample.median * trial.sample.spread,
                                  all[0].sample.median * all[0].sample.spread);
    return all[0].sample.median - trial.sample.median > apart;
  }

  // The kernel's own choice is never dropped.
  void halve() {
    std::vector<size_t> alive;
    for (size_t i = 0; i < all.size(); ++i)
      if (usable(all[i]) && !all[i].known)
        alive.push_back(i);
    for (int rounds = firstRounds; !alive.empty() && !over();
         rounds = std::min(2 * rounds, mostRounds)) {
      trials.time(alive, rounds, deadline);
      std::erase_if(alive, [&](size_t i) { return !usable(all[i]); });
      if (alive.size() <= 2)
        return;
      std::stable_sort(alive.begin(), alive.end(), [&](size_t a, size_t b) {
        return all[a].sample.median < all[b].sample.median;
      });
      const bool keepOwn =
          std::find(alive.begin(), alive.end(), 0) != alive.end();
      alive.resize((alive.size() + 1) / 2);
      if (keepOwn && std::find(alive.begin(), alive.end(), 0) == alive.end())
        alive.push_back(0);
      std::sort(alive.begin(), alive.end());
    }
  }

  // The kernel's own choice, the best, and what is close to it; less what is
  // known already.
  std::vector<size_t> finalists() const {
    const std::vector<size_t> ranked = timedOnes();
    std::vector<size_t> list;
    for (size_t i : ranked)
      if (i == 0 || i == ranked[0] ||
          (all[i].sample.median <= nearTie * all[ranked[0]].sample.median &&
           list.size() < mostFinalists))
        list.push_back(i);
    std::erase_if(list, [&](size_t i) { return all[i].known; });
    std::sort(list.begin(), list.end());
    return list;
  }

  void compareFinalists() {
    for (int rounds : {lastRounds, moreRounds}) {
      const std::vector<size_t> list = finalists();
      if (list.empty() || over())
        return;
      trials.time(list, rounds, deadline);
      const std::vector<size_t> ranked = timedOnes();
      if (ranked.empty() || ranked[0] == 0 || winsAgainstOwn(all[ranked[0]]))
        return;
    }
  }

  std::string why(const std::vector<size_t> &ranked, size_t best,
                  bool wins) const {
    const std::string of =
        "of " + std::to_string(ranked.size()) + " timed candidates" +
        (trials.drifted ? ", on a machine whose speed changed meanwhile" : "");
    if (ranked.size() == 1)
      return "the only candidate that was timed";
    if (best == 0)
      return "the kernel's own choice is the fastest " + of;
    const double gain = all[0].sample.median / all[best].sample.median - 1;
    if (wins)
      return "the fastest " + of + ", " + percent(gain) +
             " faster than the kernel's own choice";
    return "the kernel's own choice; " + describe(all[best].candidate.use) +
           " was " + percent(gain) + " faster, within the spread";
  }

  Job &job;
  Trials &trials;
  std::vector<Trial> &all;
  Clock::time_point deadline;
};

// One after another, with what is kept in files.
class Searcher {
public:
  Searcher(std::vector<Job> &jobs, const SearchOptions &options,
           const std::atomic<bool> &interrupted)
      : jobs(jobs), options(options), interrupted(interrupted),
        end(Clock::now() + options.budget),
        times(Times::read(timesFile(options.out))),
        file(options.out, options.device, options.provenance) {}

  SearchResult run(const std::function<void(const JobReport &)> &done) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      JobReport report = runJob(i);
      progress.clear();
      if (!interrupted || report.entry)
        done(report);
      result.reports.push_back(std::move(report));
      times.write(timesFile(options.out));
      file.write();
    }
    result.table = file.table();
    result.interrupted = interrupted;
    return std::move(result);
  }

private:
  JobReport runJob(size_t index) {
    Job &job = jobs[index];
    JobReport report;
    report.key = job.key;
    for (const auto &[choice, why] : job.space.leftOut)
      report.excluded.push_back({choice, "not tried: " + why, ""});
    report.candidates = job.space.candidates.size();
    if (job.space.candidates.empty()) {
      report.error = "there is no configuration to try";
      return report;
    }
    report.own = job.space.candidates[0].use;
    const auto now = Clock::now();
    const auto share =
        std::max(end - now, Clock::duration::zero()) / (jobs.size() - index);
    Trials trials(job, interrupted,
                  [&](const std::string &what) { show(index, what); });
    if (options.resume)
      trials.recall(times);
    const bool allKnown =
        std::all_of(trials.all.begin(), trials.all.end(),
                    [](const Trial &trial) { return trial.known; });
    if ((now >= end || interrupted) && !allKnown)
      return report;
    JobSearch search(job, trials, now + share);
    try {
      search.run();
    } catch (const Error &error) {
      report.error = error.message;
    }
    trials.note(times);
    finish(job, trials, search, report);
    job.loaded.before.clear();
    job.loaded.after.clear();
    return report;
  }

  void finish(const Job &job, const Trials &trials, const JobSearch &search,
              JobReport &report) {
    report.drifted = trials.drifted;
    report.othersBusy = trials.othersBusy;
    for (const Trial &trial : trials.all) {
      report.timed += trial.timed();
      if (trial.state == Trial::State::Excluded)
        report.excluded.push_back(
            {trial.candidate.use, trial.problem, reproducer(job, trial)});
    }
    // What was interrupted in the middle goes on with --resume.
    if (!report.error.empty() || interrupted)
      return;
    report.entry = search.entry();
    if (report.entry)
      file.replace(*report.entry);
  }

  // A case of the candidate's launch; what does not compile has none.
  std::string reproducer(const Job &job, const Trial &trial) const {
    if (trial.known || trial.timesKey.empty() ||
        trial.problem.starts_with("does not compile"))
      return "";
    fs::path folder = options.out;
    folder += ".failed";
    folder /=
        job.kernel->info.signature.kernel + "-" + trial.timesKey.substr(0, 8);
    try {
      writeReproducer(folder, job.loaded.folder, trial.launch,
                      trial.candidate.grid);
    } catch (const Error &error) {
      logWarning(error.message);
      return "";
    }
    return "tessera replay --timeout 10 " + folder.string();
  }

  void show(size_t index, const std::string &what) {
    if (!progress.due())
      return;
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(
        std::max(end - Clock::now(), Clock::duration::zero()));
    progress.show("tuning " + std::to_string(index + 1) + " of " +
                  std::to_string(jobs.size()) + ", " +
                  jobs[index].kernel->info.signature.kernel + ": " + what +
                  ", at most " + std::to_string(left.count()) + " s left");
  }

  std::vector<Job> &jobs;
  const SearchOptions &options;
  const std::atomic<bool> &interrupted;
  const Clock::time_point end;
  Times times;
  TableFile file;
  Progress progress;
  SearchResult result;
};

} // namespace

SearchResult search(std::vector<Job> &jobs, const SearchOptions &options,
                    const std::atomic<bool> &interrupted,
                    const std::function<void(const JobReport &)> &done) {
  return Searcher(jobs, options, interrupted).run(done);
}

} // namespace tessera::tune
