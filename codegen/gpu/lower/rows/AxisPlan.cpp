// codegen/gpu/lower/rows/AxisPlan.cpp - plans steps of reductions and scans.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/rows/AxisPlan.h"

#include <bit>

using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Span;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

Word axisPart(const LinearLayout &layout, int axis, Word word) {
  const layout::Extent &out = layout.outs()[size_t(axis)];
  return word >> layout.outStart(out.dim) & ((Word(1) << out.bits) - 1);
}

Word rowPart(const LinearLayout &layout, int axis, Word word) {
  const layout::Extent &out = layout.outs()[size_t(axis)];
  int start = layout.outStart(out.dim);
  Word low = word & ((Word(1) << start) - 1);
  return low | word >> (start + out.bits) << start;
}

LinearLayout rowsOf(const LinearLayout &layout, int axis,
                    const AxisPlan *plan) {
  int rowBits = layout.outBits() - layout.outs()[size_t(axis)].bits;
  layout::Extents outs = {{Dim::Dim0, rowBits}};
  if (plan)
    outs.push_back({Dim::Dim1, plan->restBits});
  std::vector<Word> columns;
  for (Word column : layout.columns()) {
    Word word = rowPart(layout, axis, column);
    if (plan)
      word |= layout::multiply(plan->rest, axisPart(layout, axis, column))
              << rowBits;
    columns.push_back(word);
  }
  return LinearLayout(layout.ins(), outs, columns);
}

namespace {
// The basis vectors of one input dim, each split into its part along the axis
// and its part across rows.
struct Columns {
  Columns(const LinearLayout &layout, int axis, Dim dim) {
    for (Word column : layout.columns(dim)) {
      along.push_back(axisPart(layout, axis, column));
      row.push_back(rowPart(layout, axis, column));
    }
  }
  // True if every index is the XOR of an index that keeps its row and one that
  // keeps its coordinate on the axis.
  bool split() const {
    Span places(layout::kernelOf(row));
    for (Word v : layout::kernelOf(along))
      places.add(v);
    return places.dim() == int(along.size());
  }
  std::vector<Word> along, row;
};
} // namespace

static AxisPlan planOrdered(const Columns (&dims)[3], int bits) {
  AxisPlan plan;
  Word seen = 0;
  for (const Columns &columns : dims)
    for (size_t i = 0; i < columns.along.size(); ++i) {
      Word along = columns.along[i];
      if (!along)
        continue;
      if (columns.row[i] || !std::has_single_bit(along) || seen & along)
        plan.regular = false;
      seen |= along;
    }
  if (seen != (Word(1) << bits) - 1)
    plan.regular = false;
  if (!plan.regular)
    return plan;
  auto find = [&](const Columns &columns, Word along) {
    for (size_t i = 0; i < columns.along.size(); ++i)
      if (columns.along[i] == along)
        return Word(1) << i;
    return Word(0);
  };
  int bit = 0;
  for (; bit < bits; ++bit) {
    Word along = Word(1) << bit;
    if (Word place = find(dims[0], along))
      plan.steps.push_back({false, place, along});
    else if (Word place = find(dims[1], along))
      plan.steps.push_back({true, place, along});
    else
      break;
  }
  // The remaining upper bits of the coordinate number the parts of a row.
  plan.restBits = bits - bit;
  for (int i = 0; i < bits; ++i)
    plan.rest.push_back(i < bit ? 0 : Word(1) << (i - bit));
  return plan;
}

AxisPlan planAxis(const LinearLayout &layout, int axis, bool ordered) {
  int bits = layout.outs()[size_t(axis)].bits;
  const Columns dims[3] = {Columns(layout, axis, Dim::Register),
                           Columns(layout, axis, Dim::Lane),
                           Columns(layout, axis, Dim::Warp)};
  if (ordered)
    return planOrdered(dims, bits);
  AxisPlan plan;
  for (const Columns &columns : dims)
    plan.regular &= columns.split();
  if (!plan.regular)
    return plan;
  Span combined, others;
  int registerSteps = 0;
  for (bool isLane : {false, true})
    for (Word places : layout::kernelOf(dims[isLane].row)) {
      Word along = layout::multiply(dims[isLane].along, places);
      if (isLane)
        others.add(along);
      if (!combined.add(along))
        continue;
      plan.steps.push_back({isLane, places, along});
      registerSteps += !isLane;
    }
  Span parts;
  for (Word places : layout::kernelOf(dims[2].row)) {
    Word along = layout::multiply(dims[2].along, places);
    others.add(along);
    Word part = combined.reduce(along);
    if (!parts.contains(part))
      parts.add(part);
  }
  plan.restBits = parts.dim();
  for (int i = 0; i < bits; ++i) {
    auto part = parts.solve(combined.reduce(Word(1) << i));
    if (!part) { // no thread holds some element
      plan.regular = false;
      return plan;
    }
    plan.rest.push_back(*part);
  }
  plan.registersAgree = registerSteps + others.dim() == bits;
  return plan;
}

} // namespace tessera::codegen::gpu
