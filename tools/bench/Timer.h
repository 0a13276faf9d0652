// tools/bench/Timer.h - measures the time of work on a device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/bench/Machine.h"

#include <functional>
#include <memory>

namespace tessera::bench {

// Times the CPU with the steady clock, and a GPU with two events on torch's
// current stream. On a GPU, the L2 cache is overwritten before the first event.
class Timer {
public:
  virtual ~Timer() = default;
  virtual double seconds(const std::function<void()> &work) = 0; // throws Error

  static std::unique_ptr<Timer> of(const BenchDevice &device);
};

} // namespace tessera::bench
