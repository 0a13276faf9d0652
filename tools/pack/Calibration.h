// tools/pack/Calibration.h - adds the microbenchmarks of a GPU to a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// Writes the microbenchmarks (tools/gpucheck/Calibrate.cpp) to
// FOLDER/calibration, assembled for the targets if ptxas is installed and
// otherwise as PTX only. Writes the published numbers of GPUs to
// FOLDER/devices.json. Throws Error.
void packCalibration(const std::filesystem::path &folder,
                     const std::vector<std::string> &targets);

// PTX of a microbenchmark and its name. All of them require sm_80.
struct Microbenchmark {
  std::string name;
  std::vector<std::string> parameters; // "u64" or "u32", then the name
  uint32_t threads = 0;                // of a block
  std::string ptx;
};
const std::vector<Microbenchmark> &microbenchmarks();

} // namespace tessera::tools
