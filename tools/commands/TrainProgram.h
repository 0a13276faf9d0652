// tools/commands/TrainProgram.h - where the programs that need LibTorch are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// A program and the variables of its environment by which it finds torch's
// libraries.
struct TrainProgram {
  std::filesystem::path path;
  std::vector<std::string> environment; // "NAME=value"
};

// `name` (tessera-train, tessera-bench) beside this program, as a build folder
// and a wheel have it, or in libexec/tessera of an installation. That one is
// linked to no torch in particular: its libraries are those of the folder that
// Torch_ROOT names, else of the torch that python3 imports. Throws Error where
// the program, or torch of the version that it was built with, is not there.
TrainProgram findTrainProgram(const std::string &name);

} // namespace tessera::tools
