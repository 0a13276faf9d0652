// trainer/loop/Signals.h - signal handlers of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

namespace tessera::trainer {

/// Installs handlers until it is destroyed. SIGUSR1 and SIGHUP print the run's
/// activity and the stack of the thread that received the signal to standard
/// error; the run continues. Signals are ignored while reports have taken more
/// than a tenth of the time. SIGPIPE and SIGXFSZ have no effect, because a log
/// without a reader or at its size limit must not end the run.
class ReportSignals {
public:
  ReportSignals();
  ~ReportSignals();
  ReportSignals(const ReportSignals &) = delete;
  ReportSignals &operator=(const ReportSignals &) = delete;

  /// Sets the activity ("training") and the number of completed steps that
  /// reports print. The text must have static lifetime.
  static void doing(const char *what, int64_t step);

private:
  struct Replaced {
    int signal;
    struct sigaction before;
  };
  std::vector<Replaced> replaced;
};

} // namespace tessera::trainer
