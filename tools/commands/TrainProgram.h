// tools/commands/TrainProgram.h - finds the programs that need LibTorch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// A program, and the environment variables with which it finds torch's
// libraries.
struct TrainProgram {
  std::filesystem::path path;
  std::vector<std::string> environment; // "NAME=value"
};

// Returns `name` (tessera-train, tessera-bench): from the folder of this
// program in a build folder or a wheel, or from libexec/tessera of an
// installation. An installed program is not linked to one torch: its libraries
// come from the folder that Torch_ROOT names, or else from the torch that
// python3 imports. Throws Error if the program, or torch of the version with
// which it was built, is missing.
TrainProgram findTrainProgram(const std::string &name);

} // namespace tessera::tools
