// simulator/Estimate.h - converts the counters of a launch to cycles of a
// device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Sim.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tessera::sim {

// Rates of a GPU, per SM and cycle, from autotune/model/devices.yaml.
struct Device {
  std::string name, target;
  uint32_t sms = 0, maxWarps = 0, maxBlocks = 0, sharedBytes = 0;
  double clockMhz = 0;
  std::array<double, NumClasses> lanes{}; // 0: not limited by a unit
  double tensorFma = 0, issueWarps = 0, sharedBytesPerCycle = 0;
  double l2BytesPerCycle = 0; // of the whole device
  double dramGbytes = 0;      // per second, of the whole device
  double launchCycles = 0;
};

// A lower bound of the time: all units work concurrently at their full rates,
// and the slowest determines the time. Excludes latency that too few warps do
// not hide.
struct Estimate {
  std::vector<std::pair<std::string, double>> units; // cycles of one SM
  std::string limit;                                 // the slowest unit
  double cycles = 0;                                 // with the launch
  double microseconds = 0;
  uint32_t blocksPerSm = 0; // that fit, by warps and shared memory
  double busySms = 0;       // share of the SMs with work, over all waves
};
Estimate estimate(const Counters &counters, const Device &device);

// Returns the multiply-adds of an opcode with a shape such as "m16n8k16"; 0 for
// other opcodes.
double multiplyAdds(const std::string &opcode);

} // namespace tessera::sim
