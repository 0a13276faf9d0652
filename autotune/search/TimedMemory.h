// autotune/search/TimedMemory.h - memory of recorded launches that are timed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/SimLaunch.h"

#include <string>
#include <vector>

namespace tessera::tune {

// Memory of a recorded launch for launches that are only timed.
class TimedMemory {
public:
  explicit TimedMemory(const cases::LoadedCase &loaded); // throws Error
  std::vector<Arg> arguments(const cases::PreparedLaunch &launch) const {
    return cases::boundArguments(launch, memory());
  }
  // As cases::Device::run() gets it.
  const std::vector<cases::ArgumentMemory> &memory() const {
    return held.arguments;
  }
  // What the launch wrote is again as it was recorded.
  void restore();

private:
  cases::CaseMemory held;
  std::vector<std::string> initial; // of each argument; empty: not written
};

} // namespace tessera::tune
