// tools/bench/DevicePeak.h - the peak rate of a device, with which benchmarks
// compare their results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::bench {

// Floating-point operations per second, two for each multiply and add, for
// dense products of 16-bit and of 32-bit elements. 0: unknown.
struct Peak {
  double half = 0, single = 0;
  std::string source; // "measured: ...", "autotune/model/devices.yaml: a100"

  double of(bool halfPrecision) const { return halfPrecision ? half : single; }
};

// Returns the peak of `threads` threads of this processor. Measures independent
// fused multiply-adds of the widest vectors on one thread, takes the best of
// many short runs, and multiplies by the number of threads. The 16-bit peak is
// scaled by the rate of the processor's 16-bit instructions.
Peak cpuPeak(int threads);

// Returns the peak of a GPU from autotune/model/devices.yaml, or for other
// models from the clocks that the driver reports. `tf32`: 32-bit products use
// tf32. Throws Error on a machine without a GPU.
Peak gpuPeak(int ordinal, bool tf32);

} // namespace tessera::bench
