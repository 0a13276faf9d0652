// trainer/loop/RunControl.h - heartbeat and watchdog of a run, and the file
// that stops it.
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

/// Returns the seconds without a step after which a run counts as stalled: ten
/// times the median of the last steps, at least `least`.
double stallLimit(std::vector<double> stepSeconds, double least);

/// Removes the file .HALT that stopped an earlier run. Returns true if there
/// was one.
bool clearHalt(const std::string &folder);

/// Returns the first line of the file .HALT in a run's folder; empty without
/// one.
std::string haltText(const std::string &folder);

class RunControl {
public:
  /// Opens heartbeat_rank<rank>.jsonl in the run's folder. The first process
  /// also starts a watchdog unless `least` is 0. If no step ends for
  /// stallLimit(.., `least`) seconds, the watchdog prints a line and the stack
  /// of the thread that called the constructor, once per stall.
  RunControl(const std::string &folder, int64_t rank, double least);
  ~RunControl();
  RunControl(const RunControl &) = delete;
  RunControl &operator=(const RunControl &) = delete;

  /// Appends a line to the heartbeat when a step or another activity begins:
  /// "step", "evaluating". The watchdog watches only steps.
  void beat(const char *what, int64_t step);
  /// Returns true if the run's folder contains a file .HALT.
  bool halted() const;

private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const std::string folder;
  const int64_t rank;
  const double least;
  UniqueFd heartbeat;
  const pthread_t watched;
  std::mutex mutex; ///< Guards all members below.
  std::condition_variable wake;
  bool ending = false, inStep = false, said = false;
  int64_t number = 0;
  Clock::time_point since;
  std::deque<double> seconds; ///< Of the last steps.
  std::thread watcher;
};

} // namespace tessera::trainer
