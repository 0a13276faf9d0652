// autotune/Search.cpp - finds the fastest configurations within a budget.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/Search.h"

#include "autotune/Run.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

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
    std::vector<TimedChoice> choices;
    std::vector<size_t> numbers; // of the trials
    for (size_t i = 0; i < all.size(); ++i)
      if (usable(all[i]) && all[i].timed()) {
        numbers.push_back(i);
        choices.push_back(
            {all[i].candidate.use, all[i].sample.median, all[i].sample.spread});
      }
    const size_t best = fastestOf(choices);
    const bool wins = best != 0 && winsAgainstOwn(all[numbers[best]]);
    return entryOf(job.key, choices, wins ? best : 0,
                   why(choices.size(), numbers[best], wins));
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

  // Turn by turn where both were timed in turns: what slows the machine for a
  // while slows both.
  bool winsAgainstOwn(const Trial &trial) const {
    if (const auto gain = turnGain(all[0].seconds, trial.seconds))
      return gain->median * (1 - gain->spread / 2) > 1;
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
      const size_t before = alive.size();
      alive.resize((alive.size() + 1) / 2);
      if (keepOwn && std::find(alive.begin(), alive.end(), 0) == alive.end())
        alive.push_back(0);
      // Two and the own choice, which is slower than both.
      if (alive.size() == before)
        return;
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

  std::string why(size_t timed, size_t best, bool wins) const {
    const std::string of =
        "of " + std::to_string(timed) + " timed candidates" +
        (trials.drifted ? ", on a machine whose speed changed meanwhile" : "");
    if (timed == 1)
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

// With the times that are kept in a file.
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
      search.run();
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
    // What was interrupted in the middle goes on with --resume.
    if (report.error.empty() && !interrupted)
      report.entry = search.entry();
  }

  void save() override { times.write(timesFile(options.out)); }

  // Shows again what is wrong; what does not compile has none.
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
