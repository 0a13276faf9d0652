// replay/Record.h - launches of this process written as cases.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/Parts.h"

#include <string>

namespace tessera::runtime {

// Around one launch: copies the memory of its arguments, and writes the folder
// that `tessera replay` reads (docs/cases.md). A launch that is not wanted, or
// whose extents the caller did not describe, is not recorded; one that cannot
// be written is a warning, never an error of the launch.
LaunchHook &launchRecorder();

// True if a kernel's name matches one of the shell patterns, which commas
// separate. Without a pattern every name matches.
bool matchesKernel(const std::string &name, const std::string &patterns);

// The canonical text of a kernel (language::Expansion) as a module that Python
// imports under Triton: constants become tl.constexpr, as Triton wants of
// names outside of a kernel.
std::string importableText(const std::string &expanded);

} // namespace tessera::runtime
