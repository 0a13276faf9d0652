// dialect/layout/Share.cpp - distributes replicated elements over lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/Share.h"

#include "dialect/layout/ShapeOps.h"

namespace tessera::layout {

// Moves the last register bits of `layout` to the lane bits of mask `lanes`
// that only replicate elements.
static LinearLayout share(const LinearLayout &layout, Word lanes) {
  std::vector<Word> columns = layout.columns(Dim::Register),
                    laneColumns = layout.columns(Dim::Lane);
  for (size_t bit = 0; bit < laneColumns.size(); ++bit)
    if (lanes >> bit & 1 && !laneColumns[bit] && !columns.empty()) {
      laneColumns[bit] = columns.back();
      columns.pop_back();
    }
  const int registers = int(columns.size());
  for (const std::vector<Word> &more : {laneColumns, layout.columns(Dim::Warp)})
    columns.insert(columns.end(), more.begin(), more.end());
  return LinearLayout({{Dim::Register, registers},
                       {Dim::Lane, layout.inBits(Dim::Lane)},
                       {Dim::Warp, layout.inBits(Dim::Warp)}},
                      layout.outs(), columns);
}

LinearLayout shareReplication(const LinearLayout &layout) {
  return share(layout, ~Word(0));
}

std::optional<LinearLayout> scatteredSlice(const LinearLayout &operand,
                                           int axis) {
  const Extent &out = operand.outs()[size_t(axis)];
  const Word along = ((Word(1) << out.bits) - 1) << operand.outStart(out.dim);
  Word seen = 0, lanes = 0;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp}) {
    const std::vector<Word> columns = operand.columns(dim);
    for (size_t bit = 0; bit < columns.size(); ++bit) {
      if (!(columns[bit] & along))
        continue;
      if (columns[bit] & (~along | seen) || dim == Dim::Warp)
        return std::nullopt;
      seen |= columns[bit];
      lanes |= dim == Dim::Lane ? Word(1) << bit : 0;
    }
  }
  const LinearLayout whole = slice(operand, axis);
  if (seen != along || !lanes || whole.inBits(Dim::Register) == 0)
    return std::nullopt;
  return share(whole, lanes);
}

} // namespace tessera::layout
