// trainer/loop/Signals.h - what a run does about signals.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

namespace tessera::trainer {

/// While it lives, SIGUSR1 and SIGHUP write to standard error what the run is
/// doing and the stack of the thread that got the signal, and the run goes on;
/// those that come while reports have taken more than a tenth of the time are
/// passed over.
/// SIGPIPE and SIGXFSZ do nothing: a log without a reader, or that
/// must not grow, is not a reason to end.
class ReportSignals {
public:
  ReportSignals();
  ~ReportSignals();
  ReportSignals(const ReportSignals &) = delete;
  ReportSignals &operator=(const ReportSignals &) = delete;

  /// What the report says from now on: "training", optimizer steps done. The
  /// text must live as long as the program.
  static void doing(const char *what, int64_t step);

private:
  struct Replaced {
    int signal;
    struct sigaction before;
  };
  std::vector<Replaced> replaced;
};

} // namespace tessera::trainer
