// tools/tune/Interrupt.h - Ctrl-C ends a search in good order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace tessera::tools {

// While one is there, the first SIGINT or SIGTERM sets the flag and the second
// ends the process.
class InterruptFlag {
public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag &) = delete;
  InterruptFlag &operator=(const InterruptFlag &) = delete;

  static const std::atomic<bool> &isSet();
};

} // namespace tessera::tools
