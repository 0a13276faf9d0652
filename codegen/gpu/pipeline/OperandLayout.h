// codegen/gpu/pipeline/OperandLayout.h - shared layouts of dot operands.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <vector>

namespace tessera::codegen::gpu {

/// Returns the shared layout with the fewest wavefronts for storing a tile from
/// `source` and loading it once into each of `readers`. No layout may replicate
/// elements in registers. For one reader, returns layout::findSharedTrip(). For
/// several, takes the best of the layouts for each reader and of two swizzles
/// for ldmatrix. If the best has bank conflicts, it searches for a layout with
/// the same 16-byte runs and without conflicts. The 2^storedBits elements in
/// the lowest registers of `source` must be contiguous; -1 means no constraint.
/// Throws layout::LayoutError if no candidate satisfies `storedBits`.
layout::LinearLayout
operandLayout(const layout::LinearLayout &source, int storedBits,
              const std::vector<layout::LinearLayout> &readers,
              int elementBits);

} // namespace tessera::codegen::gpu
