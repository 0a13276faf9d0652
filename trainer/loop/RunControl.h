// trainer/loop/RunControl.h - signs of life, and a file that stops a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera::trainer {

/// Seconds without a step after which a run counts as stalled: ten times the
/// median of the last steps, but not less than `least`.
double stallLimit(std::vector<double> stepSeconds, double least);

/// Removes a file .HALT that an earlier run was stopped with; whether there was
/// one.
bool clearHalt(const std::string &folder);

class RunControl {
public:
  /// Writes heartbeat_rank<rank>.jsonl in the run's folder. The first process
  /// also watches its steps: when none ends for stallLimit(.., `least`) seconds
  /// a line says so and the stack of the calling thread goes to standard error,
  /// once a stall. 0: no watchdog.
  RunControl(const std::string &folder, int64_t rank, double least);
  ~RunControl();
  RunControl(const RunControl &) = delete;
  RunControl &operator=(const RunControl &) = delete;

  /// A step begins, or something else that takes its time: "step",
  /// "evaluating". Adds a line to the heartbeat; only steps are watched.
  void beat(const char *what, int64_t step);
  /// Whether there is a file .HALT in the run's folder.
  bool halted() const;

private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const std::string folder;
  const int64_t rank;
  const double least;
  UniqueFd heartbeat;
  const pthread_t watched;
  std::mutex mutex; ///< Of all below.
  std::condition_variable wake;
  bool ending = false, inStep = false, said = false;
  int64_t number = 0;
  Clock::time_point since;
  std::deque<double> seconds; ///< Of the last steps.
  std::thread watcher;
};

} // namespace tessera::trainer
