// dialect/layout/ShapeOps.cpp - new coordinates for the same places.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/ShapeOps.h"

#include <algorithm>

namespace tessera::layout {

int rankOfTile(const LinearLayout &layout) {
  return static_cast<int>(layout.outs().size());
}

std::vector<int64_t> shapeOf(const LinearLayout &layout) {
  std::vector<int64_t> shape;
  for (const Extent &out : layout.outs())
    shape.push_back(int64_t(1) << out.bits);
  return shape;
}

static void expectAxis(const LinearLayout &layout, int axis, int end) {
  if (axis < 0 || axis >= end)
    throw LayoutError("axis " + std::to_string(axis) + " of a tile of rank " +
                      std::to_string(rankOfTile(layout)));
}

// Returns a layout with the same columns whose output bits have other names.
// `fields` lists the new axes and their bits, lowest bits first. The outs of
// the result are in the order of the axes.
static LinearLayout renamed(const LinearLayout &layout,
                            const std::vector<Extent> &fields, int rank) {
  std::vector<Dim> axes;
  for (int axis = 0; axis < rank; ++axis)
    axes.push_back(tileDim(axis));
  return LinearLayout(layout.ins(), fields, layout.columns()).reorderOuts(axes);
}

LinearLayout transpose(const LinearLayout &layout,
                       const std::vector<int> &order) {
  const int rank = rankOfTile(layout);
  Extents fields = layout.outs();
  std::vector<bool> seen(rank, false);
  if (static_cast<int>(order.size()) != rank)
    throw LayoutError("trans of a tile of rank " + std::to_string(rank) +
                      " with " + std::to_string(order.size()) + " axes");
  for (int axis = 0; axis < rank; ++axis) {
    expectAxis(layout, order[axis], rank);
    if (seen[order[axis]])
      throw LayoutError("trans names axis " + std::to_string(order[axis]) +
                        " twice");
    seen[order[axis]] = true;
    fields[order[axis]].dim = tileDim(axis);
  }
  return renamed(layout, fields, rank);
}

LinearLayout reshape(const LinearLayout &layout,
                     const std::vector<int64_t> &shape) {
  // With the last axis in the lowest bits, flat words are in row-major order.
  std::vector<Dim> lastFirst;
  for (const Extent &out : layout.outs())
    lastFirst.insert(lastFirst.begin(), out.dim);
  Extents fields = tileExtents(shape);
  int bits = 0;
  for (const Extent &field : fields)
    bits += field.bits;
  if (bits != layout.outBits())
    throw LayoutError("reshape to another number of elements");
  std::reverse(fields.begin(), fields.end());
  return renamed(layout.reorderOuts(lastFirst), fields,
                 static_cast<int>(shape.size()));
}

LinearLayout expandDims(const LinearLayout &layout, int axis) {
  const int rank = rankOfTile(layout);
  expectAxis(layout, axis, rank + 1);
  Extents fields;
  for (int i = 0; i < rank; ++i)
    fields.push_back({tileDim(i < axis ? i : i + 1), layout.outs()[i].bits});
  fields.push_back({tileDim(axis), 0});
  return renamed(layout, fields, rank + 1);
}

LinearLayout broadcast(const LinearLayout &layout, int axis, int64_t size) {
  expectAxis(layout, axis, rankOfTile(layout));
  if (layout.outs()[axis].bits != 0)
    throw LayoutError("broadcast of axis " + std::to_string(axis) +
                      ", whose size is not 1");
  return layout * identity(size, Dim::Register, tileDim(axis));
}

LinearLayout join(const LinearLayout &layout) {
  return layout * identity(2, Dim::Register, tileDim(rankOfTile(layout)));
}

std::optional<SplitLayout> split(const LinearLayout &layout) {
  const int rank = rankOfTile(layout);
  if (!rank || layout.outs().back().bits != 1)
    throw LayoutError("split needs a last axis of size 2");
  const Word half = Word(1) << (layout.outBits() - 1);
  int found = -1;
  for (int i = 0; i < layout.inBits(); ++i) {
    if (!(layout.columns()[i] & half))
      continue;
    if (found >= 0 || layout.columns()[i] != half)
      return std::nullopt;
    found = i;
  }
  const int bit = found - layout.inStart(Dim::Register);
  if (bit < 0 || bit >= layout.inBits(Dim::Register))
    return std::nullopt;
  std::vector<int> keep;
  for (int i = 0; i < layout.inBits(Dim::Register); ++i)
    if (i != bit)
      keep.push_back(i);
  const LinearLayout rest = layout.pickBits(Dim::Register, keep);
  Extents outs = rest.outs();
  outs.pop_back();
  return SplitLayout{LinearLayout(rest.ins(), outs, rest.columns()), bit};
}

LinearLayout dropReplication(const LinearLayout &layout) {
  Span span;
  std::vector<int> keep;
  for (int i = 0; i < layout.inBits(Dim::Register); ++i)
    if (span.add(layout.column(Dim::Register, i)))
      keep.push_back(i);
  return layout.pickBits(Dim::Register, keep);
}

LinearLayout slice(const LinearLayout &layout, int axis) {
  const int rank = rankOfTile(layout);
  expectAxis(layout, axis, rank);
  std::vector<Dim> ins, kept;
  for (const Extent &in : layout.ins())
    ins.push_back(in.dim);
  Extents fields;
  for (int i = 0; i < rank; ++i)
    if (i != axis) {
      kept.push_back(tileDim(i));
      fields.push_back({tileDim(i < axis ? i : i - 1), layout.outs()[i].bits});
    }
  return dropReplication(
      renamed(layout.sublayout(ins, kept), fields, rank - 1));
}

} // namespace tessera::layout
