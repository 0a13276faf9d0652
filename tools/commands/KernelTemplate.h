// tools/commands/KernelTemplate.h - the files that `tessera new` writes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::tools {

// Return the text of tools/templates/pattern.py, kernel.py and kernel_test.py,
// in which NAME represents the name of the pattern or kernel.
std::string patternTemplate();
std::string kernelTemplate();
std::string kernelTestTemplate();

} // namespace tessera::tools
