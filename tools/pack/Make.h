// tools/pack/Make.h - compiles the contents of a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "tools/compile/Launches.h"

#include <string>
#include <vector>

namespace tessera::tools {

struct PackTable {
  std::string path;
  tune::TuneTable table;
};

struct PackJob {
  LaunchSource source;
  std::vector<std::string> targets; // "sm_80", "cpu:x86-64-v3:0000"
  // Tables, each for one of the targets.
  std::vector<PackTable> tables;
  std::string version, commit, command; // see runtime/pack/PackFile.h
};

// Returns the bytes of the pack. The source lists its launches for each target,
// with the kernels' default configurations and with those of each table; all
// requests compile in parallel. Throws Error, or CompileError for a kernel that
// does not compile.
std::string makePack(const PackJob &job);

} // namespace tessera::tools
