// codegen/gpu/pipeline/OperandLayout.h - where a tile for several readers lies.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <vector>

namespace tessera::codegen::gpu {

/// The shared layout under which storing a tile from `source` and loading it
/// once into each of `readers` (all without replication in registers) takes the
/// fewest passes over the banks. One reader: free of bank conflicts
/// (layout::findSharedTrip). Several: the best of the layouts that are free of
/// conflicts for one of them and the swizzles under which ldmatrix, transposed
/// or not, is; where that has conflicts, one with the same accesses without, if
/// it is found. `storedBits`: 2^n elements in the lowest registers of `source`
/// have to lie side by side; -1 where it does not matter. Throws
/// layout::LayoutError when they cannot.
layout::LinearLayout
operandLayout(const layout::LinearLayout &source, int storedBits,
              const std::vector<layout::LinearLayout> &readers,
              int elementBits);

} // namespace tessera::codegen::gpu
