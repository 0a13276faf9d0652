// dialect/layout/ShapeOps.h - what shape operations do to a layout.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each function takes the layout of an operand (register, lane, warp -> dim0,
// dim1, ...) and returns a layout of the result for which the operation moves
// no data: each value stays in its register and gets new coordinates. With
// these layouts, shape operations take no instructions.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

int rankOfTile(const LinearLayout &layout);
std::vector<int64_t> shapeOf(const LinearLayout &layout);

// Transposes: axis i of the result is axis order[i] of the operand.
LinearLayout transpose(const LinearLayout &layout,
                       const std::vector<int> &order);
// Reshapes: keeps the elements in row-major order (the last axis is fastest).
LinearLayout reshape(const LinearLayout &layout,
                     const std::vector<int64_t> &shape);
// Inserts an axis of size 1 before `axis` (or at the end).
LinearLayout expandDims(const LinearLayout &layout, int axis);
// Broadcasts an axis of size 1 to `size`: adds log2(size) register bits.
LinearLayout broadcast(const LinearLayout &layout, int axis, int64_t size);
// Appends an axis of size 2: the registers of the first operand, then those of
// the second.
LinearLayout join(const LinearLayout &layout);
// The result of split, the inverse of join.
struct SplitLayout {
  LinearLayout half;
  int registerBit; // 0: registers of the first half, 1: of the second
};
// Returns nullopt unless exactly one register bit selects the index of the last
// axis. Throws LayoutError if the last axis is not of size 2.
std::optional<SplitLayout> split(const LinearLayout &layout);
// Removes an axis, and the registers that would then hold the same value. This
// is the layout of a reduction's result, which every participating lane holds,
// and of an expand_dims operand whose result has `layout`.
LinearLayout slice(const LinearLayout &layout, int axis);
// Removes the register bits that only replicate elements inside a lane.
LinearLayout dropReplication(const LinearLayout &layout);

} // namespace tessera::layout
