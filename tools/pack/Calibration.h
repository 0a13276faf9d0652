// tools/pack/Calibration.h - the kernels that measure what a GPU can do.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// Puts the microbenchmarks (tools/gpucheck/Calibrate.h) into
// FOLDER/calibration, assembled for the targets where there is a ptxas, else as
// PTX alone, and the published figures of GPUs into FOLDER/devices.json. Throws
// Error.
void packCalibration(const std::filesystem::path &folder,
                     const std::vector<std::string> &targets);

// The PTX of a microbenchmark by its name; all read sm_80.
struct Microbenchmark {
  std::string name;
  std::vector<std::string> parameters; // "u64" or "u32", then the name
  uint32_t threads = 0;                // of a block
  std::string ptx;
};
const std::vector<Microbenchmark> &microbenchmarks();

} // namespace tessera::tools
