// support/Progress.cpp - a progress line on stderr for long work.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Progress.h"

#include "support/Log.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace tessera {

using Clock = std::chrono::steady_clock;

bool ProgressSchedule::due(double seconds) {
  if (seconds < next)
    return false;
  next = terminal ? seconds + 0.2 : seconds + std::clamp(seconds, 2.0, 60.0);
  return true;
}

Progress::Progress(std::chrono::milliseconds patience)
    : start(Clock::now()), terminal(::isatty(STDERR_FILENO) != 0),
      schedule(terminal, std::chrono::duration<double>(patience).count()) {}

Progress::~Progress() { clear(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool Progress::due() { return schedule.due(seconds()); }

void Progress::show(const std::string &text) {
  if (!terminal)
    return logInfo(text);
  shown = true;
  std::fprintf(stderr, "\r\033[Ktessera: %s", text.c_str());
}

void Progress::clear() {
  if (shown)
    std::fprintf(stderr, "\r\033[K");
  shown = false;
}

std::string Progress::timeLeft(uint64_t done, uint64_t total) const {
  if (!done || done >= total)
    return "";
  const double left = seconds() / double(done) * double(total - done);
  return ", about " + std::to_string(int64_t(left + 1)) + " s left";
}

} // namespace tessera
