// tools/commands/Debug.h - the arguments of `tessera debug`, which its two
// sources share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Watch.h"
#include "tools/sim/LaunchOptions.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

struct DebugOptions {
  LaunchOptions launch;
  std::string line, program = "0", as, hit = "1", tile, layout;
  std::vector<std::string> registers, values;
  std::optional<uint32_t> warp;
  uint32_t ptxLine = 0;
  size_t width = 100;
  bool others = false, json = false;
};

// Returns an ordinal: "1st", "12th".
std::string ordinal(uint64_t n);

// Implements --value: compiles the kernel again with a print after the line,
// and runs one block of it. `hit` counts from 1; nullopt is the last execution.
// Returns the exit status; throws Error.
int debugValues(const DebugOptions &options, const sim::Watch &watch,
                std::optional<uint64_t> hit);

} // namespace tessera::tools
