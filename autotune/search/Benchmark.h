// autotune/search/Benchmark.h - times launches on this machine's CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Sample.h"
#include "autotune/search/TimedMemory.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tessera::tune {

// Returns the time in seconds that measurements use. It is the steady clock, or
// with TESSERA_THREADS=1 the CPU time of the calling thread, which other
// programs affect only through the caches.
double launchClock();

// Returns how many launches of `guess` seconds last `atLeast` seconds together:
// at most 10000.
int64_t launchesFor(double guess, double atLeast);

// Returns the seconds of one launch by launchClock(), averaged over launches
// that take `atLeast` together; `guess` is the estimate for one. Restores the
// written arguments first, which is not timed. Caches keep the state of the
// previous launch, as within a training step. Throws Error.
double timeLaunch(const cases::PreparedLaunch &launch, const Grid &grid,
                  TimedMemory &memory, double guess, double atLeast = 1e-3);

// Returns the seconds of a fixed amount of work on all threads. Measured before
// and after, it shows whether the machine's speed has changed.
double timeControl();
// Allowed change of the control's time.
inline constexpr double mostDrift = 0.05;

// Measures how many processors other programs keep busy: 0.9 of 2.
class LoadWatch {
public:
  static constexpr double shortest = 0.5; // seconds

  LoadWatch();
  // Returns the number since construction, or nullopt if the system does not
  // report it or the interval is too short for its resolution.
  std::optional<double> othersBusy() const;

private:
  struct Ticks {
    double all = 0, ours = 0; // CPU seconds
  };
  static std::optional<Ticks> now();
  std::optional<Ticks> begin;
  std::chrono::steady_clock::time_point since;
};

} // namespace tessera::tune
