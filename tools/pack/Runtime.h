// tools/pack/Runtime.h - creates a folder that trains on a machine without a
// compiler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// Puts the training program, the libraries that it needs besides libc's and
// torch's, the kernel files, the config and the pack into `folder`, with a
// script `train` that runs them. `settings` are key=value, over the config;
// `pack` are its bytes. Throws Error.
void writeRuntime(const std::filesystem::path &folder,
                  const std::string &config,
                  const std::vector<std::string> &settings,
                  const std::string &pack);

} // namespace tessera::tools
