// support/StopSignals.h - the first Ctrl-C requests an orderly exit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace tessera {

// While an object exists, the first SIGINT or SIGTERM is recorded as a request
// to stop. A second signal of the same kind ends the process.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  // Returns the signal that arrived, or 0.
  static int received();
  // True once a signal has arrived.
  static const std::atomic<bool> &isSet();
};

} // namespace tessera
