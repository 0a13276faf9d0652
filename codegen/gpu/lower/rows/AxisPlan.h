// codegen/gpu/lower/rows/AxisPlan.h - in which steps a tile is combined along
// an axis.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Split every basis of a layout into its part A along the axis and the rest K,
// the row. A set of bits of the place with K = 0 moves along the axis only, so
// the places that differ by it hold parts of the same row: registers of one
// lane, lanes of one warp, or warps. A step combines all pairs of places that
// differ by one such set; what registers and lanes leave ("the rest") meets in
// shared memory. Sets whose A is a sum of earlier ones hold replicas and make
// no step: an element counts once, however often a layout holds it.
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <vector>

namespace tessera::codegen::gpu {

struct AxisStep {
  bool isLane;         // else register
  layout::Word places; // the bits of the register or lane number
  layout::Word axis;   // by how much they move along the axis
};

struct AxisPlan {
  // False: some basis moves along the axis and across rows at once, and no
  // choice of other bases helps. Then no step is planned.
  bool regular = true;
  std::vector<AxisStep> steps;
  // Column i: which of the 2^restBits parts of a row bit i of the coordinate
  // along the axis adds.
  std::vector<layout::Word> rest;
  int restBits = 0;
  // No two threads hold the same elements of a row in different registers.
  bool registersAgree = true;
};

/// The part of a flat word of the layout's outs along the axis.
layout::Word axisPart(const layout::LinearLayout &layout, int axis,
                      layout::Word word);
/// The others, as a flat word of layout::slice(layout, axis).
layout::Word rowPart(const layout::LinearLayout &layout, int axis,
                     layout::Word word);

/// ins -> dim0 (the row, flat) and, where `rest` is given, dim1 (the part).
layout::LinearLayout rowsOf(const layout::LinearLayout &layout, int axis,
                            const AxisPlan *plan = nullptr);

/// Registers first, then lanes. Ordered: bit by bit from the lowest bit of the
/// axis, so that every step joins neighbouring ranges and combinations need not
/// commute; the places of `rest` are in order then, too. Layouts whose bits do
/// not move along the axis by single bits, each its own, are irregular there.
AxisPlan planAxis(const layout::LinearLayout &layout, int axis, bool ordered);

} // namespace tessera::codegen::gpu
