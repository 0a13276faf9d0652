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
// Same elements in row-major order (the last axis runs fastest).
LinearLayout reshape(const LinearLayout &layout,
                     const std::vector<int64_t> &shape);
// A new axis of size 1 before `axis` (or at the end).
LinearLayout expandDims(const LinearLayout &layout, int axis);
// The axis, of size 1, repeated: one more register bit per doubling.
LinearLayout broadcast(const LinearLayout &layout, int axis, int64_t size);
// A new last axis of size 2: the two operands' registers, one after the other.
LinearLayout join(const LinearLayout &layout);
// The inverse of join: the last axis, of size 2, must lie in one register bit.
struct SplitLayout {
  LinearLayout half;
  int registerBit; // 0: registers of the first half, 1: of the second
};
std::optional<SplitLayout> split(const LinearLayout &layout);
// Removes an axis. This is the layout of a reduction's result (every lane that
// took part holds it) and of an expand_dims operand whose result has `layout`.
// Registers that would hold the same value are dropped.
LinearLayout slice(const LinearLayout &layout, int axis);
// Removes the register bits that only replicate elements inside a lane.
LinearLayout dropReplication(const LinearLayout &layout);

} // namespace tessera::layout
