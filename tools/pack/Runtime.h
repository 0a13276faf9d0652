// tools/pack/Runtime.h - creates a folder that trains on a machine without a
// compiler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// Writes to `folder` the training program, the libraries that it needs except
// those of libc and torch, the kernel files, the config, the pack, and a script
// `train` that runs them. `settings` are key=value pairs that override the
// config; `pack` contains the pack's bytes. Throws Error.
void writeRuntime(const std::filesystem::path &folder,
                  const std::string &config,
                  const std::vector<std::string> &settings,
                  const std::string &pack);

} // namespace tessera::tools
