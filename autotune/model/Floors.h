// autotune/model/Floors.h - the minimum time that each unit of a GPU needs for
// a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Devices.h"
#include "autotune/model/Profile.h"

#include <string>
#include <vector>

namespace tessera::tune {

// The time of a unit that constantly runs at its published rate.
struct Floor {
  std::string unit; // "tensor", "shared memory", "instructions",
                    // "special functions", "L2", "memory"
  double microseconds = 0;
};

// Returns the floor of each unit, the largest first: the work of all blocks,
// interpolated between the counted ones, over the rate of all SMs. Nothing is
// fitted. `profile` has a sample.
std::vector<Floor> floorsOf(const LaunchProfile &profile, const GpuData &gpu);

// Returns the aspect of a prediction that no published time validates, or "".
// On Hopper, all published times of kernels limited by matrix products use
// wgmma.
std::string uncheckedPart(const LaunchProfile &profile, const GpuData &gpu);

} // namespace tessera::tune
