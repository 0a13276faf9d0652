// autotune/search/TimedMemory.h - memory for timing recorded launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/SimLaunch.h"

#include <string>
#include <vector>

namespace tessera::tune {

// Memory of a recorded launch that is timed but not checked.
class TimedMemory {
public:
  explicit TimedMemory(const cases::LoadedCase &loaded); // throws Error
  std::vector<Arg> arguments(const cases::PreparedLaunch &launch) const {
    return cases::boundArguments(launch, memory());
  }
  // Returns the memory in the form of cases::Device::run().
  const std::vector<cases::ArgumentMemory> &memory() const {
    return held.arguments;
  }
  // Restores the written arguments to their recorded contents.
  void restore();

private:
  cases::CaseMemory held;
  std::vector<std::string> initial; // per argument; empty: not written
};

} // namespace tessera::tune
