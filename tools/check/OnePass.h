// tools/check/OnePass.h - compares a one-pass backward kernel with the kernels
// that compute the same gradients in two passes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/check/Gradients.h"

namespace tessera::tools {

// True if the kernel computes all gradients in one pass and sums those of keys
// and values in fp32, with one partial sum for each of `shares` programs
// (docs/patterns.md).
bool isOnePass(const Description &kernel);

// Compares the gradients of `onePass`, by name, with those of the kernels of
// `check`, which are themselves compared with finite differences. The problem's
// shape has the size shares = 1. Returns an empty map if the kernel does not
// support heads of two slices (DT > 0) and the problem has them. Throws Error
// if a kernel wrote outside a tensor.
std::map<std::string, Difference> compareOnePass(const GradientCheck &check,
                                                 const DescriptionPtr &onePass,
                                                 const Problem &problem,
                                                 double limit);

} // namespace tessera::tools
