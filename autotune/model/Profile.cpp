// autotune/model/Profile.cpp - counts the work of a launch on the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/Profile.h"

#include "simulator/Estimate.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::tune {

using sim::Class;

namespace {

// True if an instruction does not end a group of loads whose latencies overlap.
bool mayLieBetweenLoads(Class kind) {
  switch (kind) {
  case Class::Integer:
  case Class::Multiply:
  case Class::Move:
  case Class::Predicate:
  case Class::Constant:
    return true;
  default:
    return false;
  }
}

// Returns how often warps wait for loads into registers, over all warps.
double loadWaits(const sim::Counters &counters) {
  double sum = 0;
  uint64_t group = 0; // the most executions of one of its loads
  for (const sim::InstructionCount &i : counters.instructions) {
    if (i.kind == Class::GlobalLoad || i.kind == Class::GlobalAtomic) {
      group = std::max(group, i.warps);
    } else if (!mayLieBetweenLoads(i.kind)) {
      sum += double(group);
      group = 0;
    }
  }
  return sum + double(group);
}

} // namespace

double warpInstructions(const Work &work) {
  double sum = 0;
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    sum += work[k];
  return sum;
}

Work workOf(const sim::Counters &counters) {
  Work work{};
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    work[k] = double(counters.byClass[k]);
  for (const sim::InstructionCount &i : counters.instructions)
    if (i.kind == Class::Tensor)
      work[WorkTensor] += double(i.issues) * sim::multiplyAdds(i.opcode) *
                          (i.opcode.find("tf32") != std::string::npos ? 2 : 1);
  work[WorkShared] = double(counters.sharedWays);
  work[WorkSectors] = double(counters.globalSectors);
  work[WorkLoads] = loadWaits(counters);
  work[WorkWaits] = work[unsigned(Class::AsyncWait)];
  for (double &part : work)
    part /= double(std::max<uint64_t>(counters.blocks, 1));
  return work;
}

std::vector<uint64_t> sampledBlocks(const Grid &grid) {
  std::set<uint64_t> chosen;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t count = grid[axis], last = count - 1;
    // Two blocks at either end, because the outermost may be empty.
    for (uint64_t place : {uint64_t(0), uint64_t(1), count / 4, count / 2,
                           std::max<uint64_t>(count * 3 / 4, 1) - 1,
                           last - std::min<uint64_t>(last, 1), last}) {
      std::array<uint64_t, 3> at = {grid[0] / 2, grid[1] / 2, grid[2] / 2};
      at[axis] = std::min(place, last);
      chosen.insert(at[0] + grid[0] * (at[1] + uint64_t(grid[1]) * at[2]));
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::array<double, 3> placeOf(uint64_t block, const Grid &grid) {
  const uint64_t x = block % grid[0], rest = block / grid[0];
  const uint64_t y = rest % grid[1], z = rest / grid[1];
  return {(double(x) + 0.5) / grid[0], (double(y) + 0.5) / grid[1],
          (double(z) + 0.5) / grid[2]};
}

LaunchProfile
extrapolate(const std::vector<std::pair<double, LaunchProfile>> &sizes,
            double size, const Grid &grid, double bytes, double *misfit) {
  if (sizes.size() < 3)
    throw Error("a launch of another size needs profiles of three sizes, " +
                    std::to_string(sizes.size()) + " are there",
                "count the same kernel at more sizes");
  LaunchProfile result = sizes.back().second;
  result.grid = grid;
  result.bytes = bytes;
  double mean = 0;
  for (const auto &[s, profile] : sizes) {
    mean += s / double(sizes.size());
    if (profile.samples.size() != result.samples.size())
      throw Error("profiles of " + std::to_string(profile.samples.size()) +
                      " and of " + std::to_string(result.samples.size()) +
                      " blocks are of unlike grids",
                  "count sizes whose grids have at least eight blocks along "
                  "the same axes");
  }
  double error = 0, all = 0;
  for (size_t i = 0; i < result.samples.size(); ++i)
    for (unsigned part = 0; part < NumWorkParts; ++part) {
      double average = 0, over = 0, under = 0;
      for (const auto &[s, profile] : sizes)
        average += profile.samples[i].work[part] / double(sizes.size());
      for (const auto &[s, profile] : sizes) {
        over += (s - mean) * (profile.samples[i].work[part] - average);
        under += (s - mean) * (s - mean);
      }
      const double slope = under > 0 ? over / under : 0;
      const auto line = [&](double s) { return average + slope * (s - mean); };
      result.samples[i].work[part] = std::max(line(size), 0.0);
      if (part < sim::NumClasses)
        for (const auto &[s, profile] : sizes) {
          const double value = profile.samples[i].work[part];
          error += (line(s) - value) * (line(s) - value);
          all += value * value;
        }
    }
  if (misfit)
    *misfit = all > 0 ? std::sqrt(error / all) : 0;
  return result;
}

} // namespace tessera::tune
