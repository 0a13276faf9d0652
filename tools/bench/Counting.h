// tools/bench/Counting.h - records launches of this process and counts them on
// a simulated GPU.
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

// Records launches of the torch ops. Create it before the first launch of the
// process; its destructor removes the recordings.
class LaunchRecording {
public:
  LaunchRecording();

  // Runs `body` and returns its launches as case folders, ordered by kernel.
  std::vector<std::filesystem::path> of(const std::function<void()> &body);

private:
  ScratchFolder folder;
};

// Returns a recorded launch with the configuration that the kernel itself
// chooses for a device: "cpu", "sim:sm_80" or "cuda:check". Throws Error.
tune::Job ownLaunch(const std::filesystem::path &recorded,
                    const std::string &device);

// Counters of all blocks of a launch on a GPU, and its predicted time.
struct Counted {
  std::string kernel;
  double warpInstructions = 0, tensorInstructions = 0;
  double flop = 0;        // of products, two for each multiply and add
  double bytes = 0;       // all arguments: minimum traffic
  double sectorBytes = 0; // that warps request from L2
  double microseconds = 0;
  std::string bound;
  uint32_t registers = 0, spilledBytes = 0, residentBlocks = 0;
};

// Runs the launch on the simulator with every check and compares its results
// with the recording. Throws Error if they differ.
Counted countLaunch(const std::filesystem::path &recorded,
                    const tune::GpuData &gpu);

// Returns sums over launches: "launches", "warp_instructions",
// "tensor_instructions", "flop_executed", "bytes", "l2_bytes", "predicted_us".
Json sumOf(const std::vector<Counted> &launches);

} // namespace tessera::bench
