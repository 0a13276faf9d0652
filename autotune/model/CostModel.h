// autotune/model/CostModel.h - predicts the time of a launch on a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// docs/cost-model.md lists the formulas, their sources and the error of the
// predictions against published times.
#pragma once

#include "autotune/model/Devices.h"
#include "autotune/model/Profile.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::tune {

// The fitted constants. All other inputs are counted or published.
struct CostConstants {
  // Share of the other units' work that does not overlap with the busiest unit.
  double serial = 0.3;
  // Cycles from an instruction of a warp to its next one.
  double issueCycles = 3;
  // A wait for memory takes this multiple of the published idle latency.
  double latency = 1.5;
  // Achieved shares of the published peaks.
  double tensorShare = 0.8, memoryShare = 0.7;
};
inline constexpr size_t numCostConstants = 5;
// Fitted to published times (bench/results/cost_model.json).
extern const CostConstants fittedConstants;

// Returns the number of resident blocks of an SM, limited by registers, shared
// memory, warps and blocks. If the register count is unknown, threads are
// assumed to use the maximum. Returns 0 if not even one block fits.
uint32_t residentBlocks(const LaunchProfile &profile, const GpuData &gpu);

// Cycles of one block.
struct BlockCycles {
  double units = 0;    // of the SM's units, without stalls
  double chain = 0;    // of its longest warp, without waits for memory
  double waits = 0;    // memory stalls that copies in flight do not hide
  std::string busiest; // unit
  // Returns the cycles of a block from start to end with `resident` blocks on
  // the SM.
  double with(double resident) const {
    return std::max(units * resident, chain + waits);
  }
};
BlockCycles blockCycles(const Work &work, const LaunchProfile &profile,
                        double resident, const GpuData &gpu,
                        const CostConstants &constants);

// Returns the end of the last block. Each of `slots` slots takes the next of
// `blocks` blocks as soon as it is free. `cycles` returns the cycles of a block
// by its number, `all` is their sum. For many blocks, samples every n-th.
double makespan(uint64_t blocks, uint64_t slots,
                const std::function<double(uint64_t)> &cycles, double all);

struct Prediction {
  double microseconds = 0;
  uint32_t resident = 0; // resident blocks per SM; 0: cannot be launched
  // The limiting resource: "tensor", "latency", "L2", "memory" ...
  std::string limit;
};
Prediction predict(const LaunchProfile &profile, const GpuData &gpu,
                   const CostConstants &constants = fittedConstants);

// Returns the roofline bound in microseconds: the larger of operations over the
// peak (of tensor cores, else fp32 lanes) and bytes over DRAM bandwidth. A
// multiply-add counts as two operations in `tensorFlops`.
double plainBound(double tensorFlops, double bytes, const GpuData &gpu);

} // namespace tessera::tune
