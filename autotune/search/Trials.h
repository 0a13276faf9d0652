// autotune/search/Trials.h - the candidates of one launch: compiled, checked,
// timed.
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
  std::string problem; // of an excluded one
  bool known = false;  // from an earlier run: nothing of it is run again
  double guess = 0;    // seconds of a launch, once it has run
  std::vector<double> seconds;
  Sample sample; // of `seconds`, or what was known
  int64_t samples = 0;

  bool timed() const { return samples > 0; }
};

// All of one job. The first trial is the kernel's own choice.
class Trials {
public:
  // `progress` is called with what is being done.
  Trials(const Job &job, const std::atomic<bool> &interrupted,
         std::function<void(const std::string &)> progress);

  std::vector<Trial> all;
  bool drifted = false;  // the machine's speed changed while it was measured
  double othersBusy = 0; // processors, the most of any measurement

  // Takes over what earlier runs found out.
  void recall(const Times &times);
  // Adds what this run found out.
  void note(Times &times) const;

  // Compiles what waits, in parallel, until the deadline.
  void compile(Clock::time_point deadline);
  // Compares results, first those of which the model expects most, each
  // candidate in a process that it cannot take others
  // down with. What is wrong, crashes or does not end is excluded. Throws Error
  // when it is the kernel's own choice.
  void check(Clock::time_point deadline);
  // Times the trials in turns, so many times each or until the deadline.
  void time(std::vector<size_t> which, int rounds, Clock::time_point deadline);

  bool interrupted() const { return stop; }

private:
  double limitOf(const Trial &trial) const;
  void exclude(Trial &trial, const std::string &why);
  // False: the process crashed or took too long; the trial that it ran is
  // excluded.
  bool endedWell(const Ended &ended, Trial &current);
  // Indices of the trials that are compiled and not yet checked.
  std::vector<size_t> compiledOnes() const;
  // False: the trial that it ended in is excluded, and the rest has to follow.
  bool checkSome(const std::vector<size_t> &which, Clock::time_point deadline);
  bool timeSome(const std::vector<size_t> &which, int rounds,
                Clock::time_point deadline, double &drift);

  const Job &job;
  const std::atomic<bool> &stop;
  std::function<void(const std::string &)> progress;
};

// Where no trial's launch may last longer: so many times the kernel's own, and
// at least so many seconds.
inline constexpr double slowestFactor = 20, leastLimit = 3, firstLimit = 120;

} // namespace tessera::tune
