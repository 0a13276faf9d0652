// dialect/layout/ShapeOps.h - what shape operations do to a layout.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each function takes the layout of an operand (register, lane, warp -> dim0,
// dim1, ...) and gives a layout of the result under which the operation moves
// nothing: the value in a register stays there and only gets new coordinates.
// That is why none of them ever costs an instruction when layouts may be
// chosen.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

int rankOfTile(const LinearLayout &layout);
std::vector<int64_t> shapeOf(const LinearLayout &layout);

// Axis i of the result is axis order[i] of the operand.
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
// The axis projected away: what a reduction leaves (every place that took part
// holds the result), and what an operand of expand_dims may have so that the
// result has `layout`. Registers that would hold the same value are dropped.
LinearLayout slice(const LinearLayout &layout, int axis);
// Without the register bits that only replicate inside a lane.
LinearLayout dropReplication(const LinearLayout &layout);

} // namespace tessera::layout
