// support/Progress.h - a progress line on stderr for long work.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera {

// Decides when to report progress. On a terminal, which overwrites the line:
// five times a second. Elsewhere lines accumulate, so the interval doubles
// until it reaches one minute.
class ProgressSchedule {
public:
  ProgressSchedule(bool terminal, double patience)
      : terminal(terminal), next(patience) {}
  // True if a report is due `seconds` after the start.
  bool due(double seconds);

private:
  bool terminal;
  double next;
};

// Prints a progress line once work takes longer than two seconds. If stderr is
// not a terminal, logs it instead (TESSERA_LOG).
class Progress {
public:
  explicit Progress(
      std::chrono::milliseconds patience = std::chrono::milliseconds(2000));
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  // Clears the line on a terminal.
  ~Progress();

  double seconds() const;
  // True if a report is due. Callers build the text only then.
  bool due();
  // Shows a text such as "compiling `k` ... 12 s, ptxas".
  void show(const std::string &text);
  // Clears the line before other output.
  void clear();
  // Returns ", about 30 s left", extrapolated from the time of `done` of
  // `total` items, or an empty string if nothing is done.
  std::string timeLeft(uint64_t done, uint64_t total) const;

private:
  std::chrono::steady_clock::time_point start;
  bool terminal, shown = false;
  ProgressSchedule schedule;
};

} // namespace tessera
