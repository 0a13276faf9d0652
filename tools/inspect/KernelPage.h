// tools/inspect/KernelPage.h - the page of one kernel, or of two
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/inspect/Side.h"

#include <string>
#include <vector>

namespace tessera::tools {

// Whether pages can have SASS: there are ptxas and nvdisasm. Says on stderr why
// not.
bool hasMachineCode();

// Compiled with the stages of a page, those of machine code where `machine`.
// The request's target is a GPU. Throws Error, or CompileError for a kernel
// that does not compile for it.
Configuration compileForPage(std::string title,
                             language::CompileRequest request, bool machine);

// The page of the first configuration, beside it the others. `tuned`: rows of a
// table, as `tessera inspect --table` has them; null: none.
std::string kernelPage(const std::vector<Configuration> &sides,
                       const Json &tuned = {});

} // namespace tessera::tools
