// trainer/loop/StageClock.h - measures the time of each stage of a step.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/observe/Trace.h"

#include <array>
#include <chrono>

namespace tessera::trainer {

enum class Stage : int { Data, Forward, Backward, Exchange, Update, Other };
constexpr std::array<const char *, 6> stageNames = {
    "data", "forward", "backward", "exchange", "update", "other"};

/// Assigns all time from construction on to stages, so that the stages add up
/// to the total. Each stage is also a phase of the trace. On a GPU these are
/// host times: device time counts in the stage that waits for the device.
class StageClock {
public:
  using Clock = Trace::Clock;

  explicit StageClock(Trace *trace = nullptr) : trace(trace) { tell(); }

  /// Ends the current stage and begins `stage`.
  void enter(Stage stage) {
    const Clock::time_point now = Clock::now();
    sums[size_t(current)] += std::chrono::duration<double>(now - since).count();
    since = now;
    current = stage;
    tell();
  }
  /// Returns the seconds of each stage up to the last enter().
  const std::array<double, stageNames.size()> &seconds() const { return sums; }
  double total() const {
    double sum = 0;
    for (const double s : sums)
      sum += s;
    return sum;
  }

private:
  void tell() {
    if (trace)
      trace->phase(stageNames[size_t(current)], since);
  }

  Trace *trace;
  Stage current = Stage::Other;
  Clock::time_point since = Clock::now();
  std::array<double, stageNames.size()> sums = {};
};

} // namespace tessera::trainer
