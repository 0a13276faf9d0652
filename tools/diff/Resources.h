// tools/diff/Resources.h - two reports of GPU kernels side by side.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::tools {

// Rows of "name, A, B, change": registers, stack, spills, shared memory, blocks
// on an SM, instructions by class, and each loop of the two kernels. Loops are
// paired in the order of the text, innermost with innermost. `a` and `b` are
// what ptx::makeReport() gives. What neither knows is left out.
std::string compareReports(const Json &a, const Json &b);

// One such row.
std::string compareRow(const std::string &name, const Json &a, const Json &b);

} // namespace tessera::tools
