// support/Stopwatch.h - measures the times of consecutive steps.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace tessera {

class Stopwatch {
public:
  /// Returns the microseconds since the last lap or construction, and starts a
  /// new lap.
  int64_t lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto elapsed = now - last;
    last = now;
    return std::chrono::duration_cast<std::chrono::microseconds>(elapsed)
        .count();
  }

  /// Returns the seconds of the current lap, without ending it.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         last)
        .count();
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace tessera
