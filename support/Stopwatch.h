// support/Stopwatch.h - how long the parts of a task take.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace tessera {

class Stopwatch {
public:
  /// Microseconds since the last lap, or since it was made.
  int64_t lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto elapsed = now - last;
    last = now;
    return std::chrono::duration_cast<std::chrono::microseconds>(elapsed)
        .count();
  }

  /// The same in seconds; the lap goes on.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         last)
        .count();
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace tessera
