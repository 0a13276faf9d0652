// tools/bench/Machine.h - describes the machine and the build of a measurement.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::bench {

// The kind and the name of "cpu", "cuda", "cuda:1" or "sim:sm_80". Throws Error
// for other names, with the nearest name.
struct BenchDevice {
  enum class Kind { Cpu, Cuda, Sim } kind = Kind::Cpu;
  std::string name;
  int ordinal = 0; // of Cuda
};
BenchDevice parseDevice(const std::string &name);

// Returns the head of every result: `device` (name, model, target, cores;
// clocks in MHz and watts if the system reports them, else null), `versions`,
// `commit` (with "+changes" if files differ from it; null outside a checkout),
// `date`, `load`. Throws Error for an unknown device.
Json machineFacts(const BenchDevice &device, int threads);

// Returns the mean number of runnable processes over one minute.
double loadAverage();

} // namespace tessera::bench
