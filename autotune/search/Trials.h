// autotune/search/Trials.h - compiles, checks and times the candidates of one
// launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Benchmark.h"
#include "autotune/search/Job.h"
#include "autotune/search/Times.h"
#include "support/Isolated.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

using Clock = std::chrono::steady_clock;

struct Trial {
  enum class State { Waiting, Compiled, Right, Excluded };

  Candidate candidate;
  cases::PreparedLaunch launch;
  std::string timesKey; // in Times
  State state = State::Waiting;
  std::string problem; // why the trial is excluded
  bool known = false;  // from an earlier run; not run again
  double guess = 0;    // seconds of a launch, known after its first run
  std::vector<double> seconds;
  Sample sample; // of `seconds`, or of the earlier run
  int64_t samples = 0;

  bool timed() const { return samples > 0; }
};

// All trials of one job. The first trial is the kernel's default configuration.
class Trials {
public:
  // Calls `progress` with a description of the current work.
  Trials(const Job &job, const std::atomic<bool> &interrupted,
         std::function<void(const std::string &)> progress);

  std::vector<Trial> all;
  bool drifted = false; // the machine's speed changed during a measurement
  // Processors that other processes used; maximum over the measurements.
  double othersBusy = 0;

  // Gives the trials that are in `times` their results of earlier runs.
  void recall(const Times &times);
  // Adds the results of this run to `times`.
  void note(Times &times) const;

  // Compiles the waiting trials in parallel, until the deadline.
  void compile(Clock::time_point deadline);
  // Checks the results of candidates, the most promising first (SearchSpace.h).
  // They run in a child process, after the default configuration. A candidate
  // that is wrong, crashes or does not terminate is excluded; after the latter
  // two, a new process runs the others. Throws Error if the kernel's default
  // configuration fails.
  void check(Clock::time_point deadline);
  // Times the trials alternately, `rounds` times each or until the deadline.
  void time(std::vector<size_t> which, int rounds, Clock::time_point deadline);

  bool interrupted() const { return stop; }

private:
  double limitOf(const Trial &trial) const;
  void exclude(Trial &trial, const std::string &why);
  // Returns false if the child process crashed or took too long. Then excludes
  // `current`, the trial that the process ran at that moment.
  bool endedWell(const Ended &ended, Trial &current);
  // Returns the indices of the trials that are compiled and not yet checked.
  std::vector<size_t> compiledOnes() const;
  // Runs trials in one child process. Returns false if the process crashed or
  // took too long. The trial that it ran is then excluded, and the caller
  // continues with the rest.
  bool checkSome(const std::vector<size_t> &which, Clock::time_point deadline);
  bool timeSome(const std::vector<size_t> &which, int rounds,
                Clock::time_point deadline, double &drift);

  const Job &job;
  const std::atomic<bool> &stop;
  std::function<void(const std::string &)> progress;
};

// Time limit of a launch: this multiple of the default configuration's time,
// and at least this many seconds.
inline constexpr double slowestFactor = 20, leastLimit = 3, firstLimit = 120;

} // namespace tessera::tune
