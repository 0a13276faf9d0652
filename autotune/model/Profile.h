// autotune/model/Profile.h - counts the work of a launch on the simulator, for
// the cost model.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "simulator/Findings.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tune {

// Work of one block: warp instructions of each class (sim::Class), then these
// counts.
enum WorkPart : unsigned {
  WorkTensor = sim::NumClasses, // multiply-adds; those of tf32 count twice
  WorkShared,                   // passes over the banks, 128 bytes each
  WorkSectors,                  // of global memory, 32 bytes
  WorkLoads, // times that a warp waits for loads into registers
  WorkWaits, // times that a warp waits for asynchronous copies
  NumWorkParts
};
using Work = std::array<double, NumWorkParts>;
// Bytes of a sector of global memory, and of a pass over the banks.
inline constexpr double sectorBytes = 32, passBytes = 128;

double warpInstructions(const Work &work);

// Returns the average work of the counted blocks. Loads whose results are used
// together count as one wait: loads separated only by address arithmetic in the
// text.
Work workOf(const sim::Counters &counters);

// A launch of many blocks, described by a few sampled blocks.
struct LaunchProfile {
  struct Sample {
    std::array<double, 3> at{}; // relative: 0.5 is the middle
    Work work{};
  };
  // The first sample is the middle of the grid. The others are located on the
  // three axes through the middle.
  std::vector<Sample> samples;
  Grid grid = {1, 1, 1};
  uint32_t threads = 128;    // of a block
  uint32_t registers = 0;    // of a thread; 0: not known
  uint64_t sharedBytes = 0;  // of a block
  double copiesInFlight = 0; // committed groups that are not waited for
  double bytes = 0;          // of all arguments: the minimum memory traffic
  bool warpgroup = false;    // matrix products use wgmma

  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
};

// Returns the blocks to count, ascending: seven along each axis, two of them at
// either end.
std::vector<uint64_t> sampledBlocks(const Grid &grid);
// Returns the position of a block in the grid, as in LaunchProfile::Sample.
std::array<double, 3> placeOf(uint64_t block, const Grid &grid);

// Extrapolates to a launch of another size from launches of the same kernel at
// three sizes or more. Each count of each sample is a + b size, by least
// squares. All launches must have the same sample positions. `misfit` receives
// the share of the instructions that the line does not explain: 0.02 is 2%
// (root mean square over samples and sizes).
LaunchProfile
extrapolate(const std::vector<std::pair<double, LaunchProfile>> &sizes,
            double size, const Grid &grid, double bytes,
            double *misfit = nullptr);

} // namespace tessera::tune
