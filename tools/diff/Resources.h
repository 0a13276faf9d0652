// tools/diff/Resources.h - compares two reports of GPU kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::tools {

// Returns rows of "name, A, B, change": registers, stack, spills, shared
// memory, blocks per SM, instructions by class, and each loop of the two
// kernels. Loops are paired in the order of the text, innermost with innermost.
// `a` and `b` are results of ptx::makeReport(). Omits values that neither
// report has.
std::string compareReports(const Json &a, const Json &b);

// Returns one such row.
std::string compareRow(const std::string &name, const Json &a, const Json &b);

} // namespace tessera::tools
