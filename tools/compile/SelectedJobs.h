// tools/compile/SelectedJobs.h - makes compile jobs for the kernels of a
// pattern with select(...).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/compile/Jobs.h"

namespace tessera::tools {

// True if the file is a pattern with select(...), which does not have derived
// kernels: its ops launch kernels of other files.
bool selectsBlocks(const language::Program &program);

// Returns a job for each of these kernels that options.instances names, or for
// all. The pattern's parameters and options.settings imply the constexprs;
// options.defines, --num-warps and --num-stages override them. A kernel that is
// launched in several forms has the names NAME, NAME_2, .... Throws Error for a
// name that the pattern does not launch and a constexpr that a kernel does not
// have.
std::vector<Job> selectedJobs(const JobOptions &options,
                              const language::Program &program);

} // namespace tessera::tools
