// tools/check/OnePass.h - a backward kernel in one pass against the kernels
// that compute the same gradients in two.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/check/Gradients.h"

namespace tessera::tools {

// True if the kernel computes all gradients in one pass and adds those of keys
// and values in fp32, in one part for each of `shares` programs
// (docs/patterns.md).
bool isOnePass(const Description &kernel);

// The gradients of `onePass`, by their names, against those of the kernels of
// `check`, which are compared with finite differences. The problem's shape has
// the size shares = 1. Nothing where the kernel does not take the problem's
// heads: those of two slices (DT > 0). Throws Error where a kernel wrote
// outside a tensor.
std::map<std::string, Difference> compareOnePass(const GradientCheck &check,
                                                 const DescriptionPtr &onePass,
                                                 const Problem &problem,
                                                 double limit);

} // namespace tessera::tools
