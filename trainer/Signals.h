// trainer/Signals.h - Ctrl-C and SIGTERM as a request to save and stop.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::trainer {

/// While it lives, the first SIGINT or SIGTERM is remembered; a second one of
/// the same kind ends the process as usual.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The signal that came, 0 if none.
  static int received();
};

} // namespace tessera::trainer
