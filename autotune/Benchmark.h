// autotune/Benchmark.h - times of launches on this machine's processor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cases/Buffer.h"
#include "runtime/cases/Device.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// Seconds, of measurements of one thing.
struct Sample {
  double median = 0;
  double spread = 0; // distance of the quartiles over the median

  bool operator==(const Sample &) const = default;
};
Sample sampleOf(std::vector<double> seconds); // at least one

// How many times as long one took as the other, of the turns that both had
// last. None where they had fewer than three.
std::optional<Sample> turnGain(const std::vector<double> &slow,
                               const std::vector<double> &fast);

// Memory of a recorded launch for launches that are only timed.
class TimedMemory {
public:
  explicit TimedMemory(const cases::LoadedCase &loaded); // throws Error
  std::vector<Arg> arguments(const cases::PreparedLaunch &launch) const;
  // What the launch wrote is again as it was recorded.
  void restore();

private:
  struct Argument {
    cases::ArgumentMemory memory;
    cases::GuardedBuffer buffer;
    std::string initial; // of written ones
  };
  std::vector<Argument> held;
};

// Seconds that launches are timed by: the steady clock; with TESSERA_THREADS=1
// the processor's time of the calling thread, to which other programs add
// nothing but what they take of the caches.
double launchClock();

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
