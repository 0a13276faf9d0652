// codegen/gpu/lower/rows/AxisPlan.h - plans the steps of reductions and scans.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each basis vector of a layout has a part A along the axis and a part K across
// rows. A set of index bits whose K sum to 0 moves along the axis only.
// Registers of a lane, lanes of a warp, or warps that differ by such a set hold
// parts of the same row. A step combines all pairs of registers (lanes) that
// differ by one set. The parts that remain after all steps, `rest`, are
// combined through shared memory. A set whose A is a sum of earlier ones leads
// to replicas and does not become a step: every element counts once.
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <vector>

namespace tessera::codegen::gpu {

struct AxisStep {
  bool isLane;         // combines lanes; else registers
  layout::Word places; // the bits of the register or lane number that differ
  layout::Word axis;   // the distance along the axis
};

struct AxisPlan {
  // False if a basis vector moves along the axis and across rows at once, and
  // no change of basis separates them. The steps must not be used then.
  bool regular = true;
  std::vector<AxisStep> steps;
  // The linear map from the coordinate along the axis to the number of the
  // part, below 2^restBits. Column i is the image of bit i.
  std::vector<layout::Word> rest;
  int restBits = 0;
  // True if no two threads hold the same elements of a row in different
  // registers.
  bool registersAgree = true;
};

/// Returns the coordinate along the axis of a flat word of the layout's outs.
layout::Word axisPart(const layout::LinearLayout &layout, int axis,
                      layout::Word word);
/// Returns the other coordinates, as a flat word of layout::slice(layout,
/// axis).
layout::Word rowPart(const layout::LinearLayout &layout, int axis,
                     layout::Word word);

/// Returns the map ins -> dim0 (the row, flat) and, with a plan, dim1 (the
/// number of the part).
layout::LinearLayout rowsOf(const layout::LinearLayout &layout, int axis,
                            const AxisPlan *plan = nullptr);

/// Plans register steps, then lane steps. With `ordered`, steps go from the
/// lowest bit of the axis upwards: each step joins neighbouring ranges, so
/// that combinations need not commute. The numbers of the parts are then in
/// order too. Layouts whose bits do not move along the axis by distinct single
/// bits are irregular with `ordered`.
AxisPlan planAxis(const layout::LinearLayout &layout, int axis, bool ordered);

} // namespace tessera::codegen::gpu
