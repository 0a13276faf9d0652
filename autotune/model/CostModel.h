// autotune/model/CostModel.h - the predicted time of a launch on a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// docs/cost-model.md has the formulas, their sources and how far predictions
// are from published times.
#pragma once

#include "autotune/model/Devices.h"
#include "autotune/model/Profile.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::tune {

// What is fitted; everything else is counted or published.
struct CostConstants {
  // Share of the other units' work that does not overlap with the busiest's.
  double serial = 0.3;
  // Cycles from an instruction of a warp to its next one.
  double issueCycles = 3;
  // Times the published latency of an idle memory that a wait takes.
  double latency = 1.5;
  // Shares of the published peaks that are reached.
  double tensorShare = 0.8, memoryShare = 0.7;
};
inline constexpr size_t numCostConstants = 5;
// Fitted to published times (bench/results/cost_model.json).
extern const CostConstants fittedConstants;

// Blocks of an SM at once: by registers, shared memory, warps, blocks. Where
// registers are not known, each thread is taken to have all that it can have.
// 0: not even one.
uint32_t residentBlocks(const LaunchProfile &profile, const GpuData &gpu);

// Cycles of one block.
struct BlockCycles {
  double units = 0;    // of the SM's units, alone
  double chain = 0;    // of its longest warp, without waits for memory
  double waits = 0;    // for memory, beyond what copies in flight hide
  std::string busiest; // unit
  // From start to end with `resident` blocks on the SM.
  double with(double resident) const {
    return std::max(units * resident, chain + waits);
  }
};
BlockCycles blockCycles(const Work &work, const LaunchProfile &profile,
                        double resident, const GpuData &gpu,
                        const CostConstants &constants);

// When the last of `blocks` ends that `slots` take in order, each the next one
// as soon as it is free. `cycles` of a block by its number, and `all` of them
// together. Of many blocks every n-th is looked at.
double makespan(uint64_t blocks, uint64_t slots,
                const std::function<double(uint64_t)> &cycles, double all);

struct Prediction {
  double microseconds = 0;
  uint32_t resident = 0; // blocks of an SM at once; 0: cannot be launched
  // "tensor", "latency", "L2", "memory" ...: what decides.
  std::string limit;
};
Prediction predict(const LaunchProfile &profile, const GpuData &gpu,
                   const CostConstants &constants = fittedConstants);

// The plain bound: the larger of operations over the peak (tensor cores, else
// fp32 lanes) and bytes over DRAM bandwidth, in microseconds. `flops`: two for
// each multiply-add.
double plainBound(double tensorFlops, double bytes, const GpuData &gpu);

} // namespace tessera::tune
