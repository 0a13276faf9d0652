// autotune/search/TimedMemory.h - memory of recorded launches that are timed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Buffer.h"
#include "replay/Device.h"

#include <string>
#include <vector>

namespace tessera::tune {

// Memory of a recorded launch for launches that are only timed.
class TimedMemory {
public:
  explicit TimedMemory(const cases::LoadedCase &loaded); // throws Error
  std::vector<Arg> arguments(const cases::PreparedLaunch &launch) const;
  // As cases::Device::run() gets it.
  std::vector<cases::ArgumentMemory> memory() const;
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

} // namespace tessera::tune
