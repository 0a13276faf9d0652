// tools/inspect/KernelPage.h - creates the page of one kernel, or of two
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/inspect/Side.h"

#include <string>
#include <vector>

namespace tessera::tools {

// True if pages can contain SASS, which requires ptxas and nvdisasm. Otherwise
// prints the reason to stderr.
bool hasMachineCode();

// Compiles with the stages of a page, and with those of machine code if
// `machine` is set. The request's target is a GPU. Throws Error, or
// CompileError if the kernel does not compile for it.
Configuration compileForPage(std::string title,
                             language::CompileRequest request, bool machine);

// Returns the page of the first configuration, compared with the others.
// `tuned`: rows of a table in the format of `tessera inspect --table`; null:
// none.
std::string kernelPage(const std::vector<Configuration> &sides,
                       const Json &tuned = {});

} // namespace tessera::tools
