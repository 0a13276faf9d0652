// tools/bench/Counting.h - launches of this process, recorded and counted on a
// simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Devices.h"
#include "autotune/search/Job.h"
#include "support/Json.h"
#include "support/ScratchFolder.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

// Records launches of the torch ops. To be made before the first one of the
// process; what it recorded is gone with it.
class LaunchRecording {
public:
  LaunchRecording();

  // The launches of `body` as folders of cases, in their order by kernel.
  std::vector<std::filesystem::path> of(const std::function<void()> &body);

private:
  ScratchFolder folder;
};

// A recorded launch as the kernel itself chooses it for a device, "cpu",
// "sim:sm_80" or "cuda:check". Throws Error.
tune::Job ownLaunch(const std::filesystem::path &recorded,
                    const std::string &device);

// What a launch does on a GPU, all of its blocks, and how long it is predicted
// to take there.
struct Counted {
  std::string kernel;
  double warpInstructions = 0, tensorInstructions = 0;
  double flop = 0;        // of products, two for each multiply and add
  double bytes = 0;       // of all arguments: what memory has to move once
  double sectorBytes = 0; // that warps ask L2 for
  double microseconds = 0;
  std::string bound;
  uint32_t registers = 0, spilledBytes = 0, residentBlocks = 0;
};

// Runs the launch on the simulator with every check, and compares what it
// writes with the recording. Throws Error where it is wrong.
Counted countLaunch(const std::filesystem::path &recorded,
                    const tune::GpuData &gpu);

// Sums over launches: "launches", "warp_instructions", "tensor_instructions",
// "flop_executed", "bytes", "l2_bytes", "predicted_us".
Json sumOf(const std::vector<Counted> &launches);

} // namespace tessera::bench
