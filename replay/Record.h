// replay/Record.h - records launches of this process as cases.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/Parts.h"

#include <string>

namespace tessera::runtime {

// Returns the hook that records launches. It copies the memory of the arguments
// before and after a launch, and writes the folder that `tessera replay` reads
// (docs/cases.md). It skips launches that are not selected, and launches whose
// extents the caller did not describe. If a case cannot be written, it warns;
// the launch never fails.
LaunchHook &launchRecorder();

// True if a kernel's name matches one of the shell patterns, which commas
// separate. Without a pattern every name matches.
bool matchesKernel(const std::string &name, const std::string &patterns);

// Returns the canonical text of a kernel (language::Expansion) as a module that
// Python imports under Triton. Constants become tl.constexpr, which Triton
// requires for global names.
std::string importableText(const std::string &expanded);

} // namespace tessera::runtime
