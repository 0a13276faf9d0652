// runtime/device/cpu/WorkEstimate.h - estimates how long the programs of a
// kernel take, to decide which grids run on the calling thread alone.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tessera::runtime {

// The time of one program, measured by the last launch of a specialization.
// Waking the threads of a pool takes microseconds on an idle machine, and
// milliseconds where other processes use the cores. So a grid whose programs
// take less than aloneNanoseconds together runs on the calling thread. A launch
// that takes longer than that hands its remaining programs to the threads.
// Several threads may launch at once: the last measurement stays.
class WorkEstimate {
public:
  using Clock = uint64_t (*)(); // nanoseconds

  // `clock` replaces the steady clock in tests.
  explicit WorkEstimate(Clock clock = steadyNanoseconds) : clock(clock) {}

  static constexpr uint64_t aloneNanoseconds = 10000;

  uint64_t now() const { return clock(); }
  // True if a grid of `programs` programs is expected to be small. False before
  // the first measurement.
  bool isSmall(uint64_t programs) const {
    const uint64_t each = picoseconds.load(std::memory_order_relaxed);
    return each && programs <= 1000 * aloneNanoseconds / each;
  }
  // Records that `programs` programs took `nanoseconds`.
  void measured(uint64_t programs, uint64_t nanoseconds) {
    const uint64_t each = nanoseconds > UINT64_MAX / 1000
                              ? UINT64_MAX
                              : 1000 * nanoseconds / programs;
    picoseconds.store(each ? each : 1, std::memory_order_relaxed);
  }

  static uint64_t steadyNanoseconds() {
    return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now().time_since_epoch())
                        .count());
  }

private:
  const Clock clock;
  std::atomic<uint64_t> picoseconds{0}; // of one program; 0: not measured
};

} // namespace tessera::runtime
