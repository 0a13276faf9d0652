// trainer/observe/ExamineRun.h - detects faults of a run from its files, for
// `tessera watch`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::trainer {

/// The values are the exit codes of `tessera watch`.
enum class RunFinding : int {
  Fine = 0,         ///< The run makes progress or is finished.
  Stall = 3,        ///< No heartbeat for too long.
  FlatLine = 4,     ///< Tokens per second are a tenth of what they were.
  NotFinite = 5,    ///< Losses or gradients that are not finite.
  GateCollapse = 6, ///< The gates have closed all branches but one.
  ZeroGradient = 7, ///< Gradients that are zero.
};

/// Returns the name of a finding, such as "heartbeat_stall", as the file
/// .anomaly_type contains it; "fine" for Fine.
const char *findingName(RunFinding finding);

/// Limits that the user of `tessera watch` can set.
struct WatchLimits {
  /// Longest time without a heartbeat during a step, in seconds. The limit is
  /// at least ten median steps, and ten times higher between steps, where a run
  /// evaluates.
  double stall = 180;
};

/// The first finding about a run, or Fine.
struct Verdict {
  RunFinding finding = RunFinding::Fine;
  bool finished = false; ///< True if metrics.json exists.
  std::string text;      ///< Description for the user.
};

/// Examines the last lines of heartbeat_rank0.jsonl and metrics.jsonl in a
/// run's folder. `now` is in seconds since the epoch. Throws tessera::Error if
/// the folder does not contain a run.
Verdict examineRun(const std::string &folder, const WatchLimits &limits,
                   double now);

} // namespace tessera::trainer
