// tools/bench/DevicePeak.h - what a device can do at most, to judge figures by.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::bench {

// Floating-point operations a second, two for each multiply and add; 0: not
// known. Dense products of 16-bit and of 32-bit elements.
struct Peak {
  double half = 0, single = 0;
  std::string source; // "measured: ...", "autotune/model/devices.yaml: a100"

  double of(bool halfPrecision) const { return halfPrecision ? half : single; }
};

// Of so many threads of this processor: what one does of independent fused
// multiply-adds of its widest vectors, the best of many short runs, times
// their number; of 16-bit elements as much more as the processor's instructions
// for them do.
Peak cpuPeak(int threads);

// By autotune/model/devices.yaml for a model that is listed there, else at the
// clocks that the driver reports. `tf32`: what 32-bit products are computed in.
// Throws Error on a machine without a GPU.
Peak gpuPeak(int ordinal, bool tf32);

} // namespace tessera::bench
