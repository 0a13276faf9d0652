// autotune/model/Profile.h - what a launch does on a GPU, counted on the
// simulator.
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

// What one block does: warp instructions of each class (sim::Class), then
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

// Of the blocks that were counted, on average. Loads whose results are used
// together count as one wait: those with nothing but address arithmetic
// between them in the text.
Work workOf(const sim::Counters &counters);

// A launch of many blocks by a few of them.
struct LaunchProfile {
  struct Sample {
    std::array<double, 3> at{}; // of the grid's extents: 0.5 is the middle
    Work work{};
  };
  // The first is the middle of the grid, the others lie on its three axes
  // through the middle.
  std::vector<Sample> samples;
  Grid grid = {1, 1, 1};
  uint32_t threads = 128;    // of a block
  uint32_t registers = 0;    // of a thread; 0: not known
  uint64_t sharedBytes = 0;  // of a block
  double copiesInFlight = 0; // groups that are committed and not waited for
  double bytes = 0;          // of all arguments: what memory has to move once
  bool warpgroup = false;    // its products are wgmma's

  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
};

// Blocks worth counting, ascending: seven along each axis, two of them at
// either end.
std::vector<uint64_t> sampledBlocks(const Grid &grid);
// Where a block lies in the grid, as in LaunchProfile::Sample.
std::array<double, 3> placeOf(uint64_t block, const Grid &grid);

// A launch of another size from the same kernel's at three sizes or more:
// each part of each sample is a + b size, by least squares. The samples must
// be at the same places. `misfit` gets how much of the instructions the line
// does not explain: 0.02 is 2% (root mean square over samples and sizes).
LaunchProfile
extrapolate(const std::vector<std::pair<double, LaunchProfile>> &sizes,
            double size, const Grid &grid, double bytes,
            double *misfit = nullptr);

} // namespace tessera::tune
