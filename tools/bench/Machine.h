// tools/bench/Machine.h - where and from what figures were taken.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::bench {

// "cpu", "cuda", "cuda:1", "sim:sm_80" in parts. Throws Error for others, with
// the nearest name.
struct BenchDevice {
  enum class Kind { Cpu, Cuda, Sim } kind = Kind::Cpu;
  std::string name;
  int ordinal = 0; // of Cuda
};
BenchDevice parseDevice(const std::string &name);

// What every result begins with: `device` (name, model, target, cores, clocks
// in MHz and watts where the system tells them, else null), `versions`,
// `commit` (with "+changes" where files differ from it; null outside of a
// checkout), `date`, `load`. Throws Error for an unknown device.
Json machineFacts(const BenchDevice &device, int threads);

// Processes that wait for a processor or have one, the mean of a minute.
double loadAverage();

} // namespace tessera::bench
