// support/Progress.h - a line on stderr about work that takes long.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera {

// When to speak of work that lasts. On a terminal, where the line is written
// over: five times a second. Elsewhere every line stays: each time twice as
// late as before, and then once a minute.
class ProgressSchedule {
public:
  ProgressSchedule(bool terminal, double patience)
      : terminal(terminal), next(patience) {}
  // Whether it is time, `seconds` after the beginning.
  bool due(double seconds);

private:
  bool terminal;
  double next;
};

// A line after two seconds of work, so that nobody wonders whether it hangs.
// Where stderr is no terminal it is a line of the log (TESSERA_LOG).
class Progress {
public:
  explicit Progress(
      std::chrono::milliseconds patience = std::chrono::milliseconds(2000));
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  // Clears the line of a terminal.
  ~Progress();

  double seconds() const;
  // Building the text is only worth it when this says so.
  bool due();
  // "compiling `k` ... 12 s, ptxas".
  void show(const std::string &text);
  // So that other output can be written.
  void clear();
  // ", about 30 s left" of `total` when `done` took as long as it did; empty
  // while there is nothing to go by.
  std::string timeLeft(uint64_t done, uint64_t total) const;

private:
  std::chrono::steady_clock::time_point start;
  bool terminal, shown = false;
  ProgressSchedule schedule;
};

} // namespace tessera
