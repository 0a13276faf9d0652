// autotune/search/Benchmark.h - times of launches on this machine's processor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Sample.h"
#include "autotune/search/TimedMemory.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tessera::tune {

// Seconds that launches are timed by: the steady clock; with TESSERA_THREADS=1
// the processor's time of the calling thread, to which other programs add
// nothing but what they take of the caches.
double launchClock();

// How many launches that take `guess` seconds each last `atLeast` together: up
// to 10000, so that the shortest ones do, too.
int64_t launchesFor(double guess, double atLeast);

// Seconds of one launch by launchClock(), over so many that they take
// `atLeast` together (`guess` is what one takes); the written arguments are
// restored first, and that is not timed. Caches are as the launch before left
// them, which is what they are between the launches of a step. Throws Error.
double timeLaunch(const cases::PreparedLaunch &launch, const Grid &grid,
                  TimedMemory &memory, double guess, double atLeast = 1e-3);

// Seconds that a fixed piece of work of all threads takes: the same before and
// after a measurement unless the machine has changed meanwhile.
double timeControl();
// How much the control's time may change.
inline constexpr double mostDrift = 0.05;

// Processors that others kept busy meanwhile: 0.9 of 2.
class LoadWatch {
public:
  static constexpr double shortest = 0.5; // seconds

  LoadWatch();
  // Since it was made; none where the system does not tell, or where the time
  // is too short for what it counts in.
  std::optional<double> othersBusy() const;

private:
  struct Ticks {
    double all = 0, ours = 0; // seconds of processors
  };
  static std::optional<Ticks> now();
  std::optional<Ticks> begin;
  std::chrono::steady_clock::time_point since;
};

} // namespace tessera::tune
