// codegen/gpu/layouts/Traffic.cpp - memory traffic of accesses in a layout.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Traffic.h"

#include "codegen/analysis/AxisInfo.h"
#include "codegen/analysis/Stride.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/bit.h"

#include <cassert>
#include <set>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

constexpr int64_t sectorBytes = 32;

AccessPattern patternOf(Operation *op, int axis, int64_t width) {
  Value ptr = op->getOperand(0);
  AccessPattern pattern;
  pattern.bytes = elementBytes(ptr.getType());
  pattern.width = width;
  pattern.axis = axis;
  pattern.isStore = !isa<tile::LoadOp>(op);
  for (size_t d = 0; d < tile::shapeOf(ptr.getType()).size(); ++d) {
    std::optional<int64_t> stride = strideAlong(ptr, int64_t(d));
    if (!stride && int(d) == axis)
      stride = 1;
    pattern.strides.push_back(stride);
  }
  return pattern;
}

int64_t neighboursInLane(const LinearLayout &layout, int &dim) {
  dim = -1;
  int64_t run = 1;
  for (int bit = 0; bit < layout.inBits(Dim::Register); ++bit) {
    Word column = layout.column(Dim::Register, bit);
    for (int axis = 0; bit == 0 && axis < int(layout.outs().size()); ++axis)
      if (layout.outs()[size_t(axis)].bits &&
          column == Word(1) << layout.outStart(layout::tileDim(axis)))
        dim = axis;
    if (dim < 0)
      break;
    Dim along = layout::tileDim(dim);
    // No other bit may move inside the group.
    Word low = Word(1) << (layout.outStart(along) + bit);
    int users = 0;
    for (Word other : layout.columns())
      users += (other & low) != 0;
    if (column != low || users != 1 || bit >= layout.outBits(along))
      break;
    run *= 2;
  }
  return run;
}

Traffic trafficOf(const LinearLayout &layout, const AccessPattern &pattern) {
  assert(pattern.strides.size() == layout.outs().size() &&
         "the pattern is of a tile with the layout's axes");
  assert(pattern.bytes > 0 && pattern.bytes <= 16 &&
         "a lane moves up to 16 bytes at once");
  int dim = -1;
  int64_t run = std::min(neighboursInLane(layout, dim), pattern.width);
  if (dim != pattern.axis)
    run = 1;
  run = std::max<int64_t>(1, std::min(run, 16 / pattern.bytes));
  // Counts only registers that do not replicate others.
  layout::Span seen;
  int64_t registers = 1;
  for (Word column : layout.columns(Dim::Register))
    registers *= seen.add(column) ? 2 : 1;
  auto isCopy = [&](Dim in, int bit) {
    return pattern.isStore && (layout.freeBits(in) >> bit & 1);
  };
  int64_t warps = 1;
  for (int bit = 0; bit < layout.inBits(Dim::Warp); ++bit)
    warps *= isCopy(Dim::Warp, bit) ? 1 : 2;

  // Counts the sectors of one request by the first byte of each lane: 16
  // aligned bytes are always in one sector.
  std::set<int64_t> sectors;
  std::vector<Word> lanes = layout.columns(Dim::Lane);
  for (unsigned lane = 0; lane < 1u << lanes.size(); ++lane) {
    bool skipped = false;
    Word flat = 0;
    for (size_t bit = 0; bit < lanes.size(); ++bit)
      if (lane >> bit & 1) {
        skipped |= isCopy(Dim::Lane, int(bit));
        flat ^= lanes[bit];
      }
    if (skipped)
      continue;
    int64_t address = 0;
    for (auto [d, index] : llvm::enumerate(layout.outCoordinates(flat))) {
      std::optional<int64_t> stride = pattern.strides[d];
      // Unknown strides give addresses that are far apart, also between axes.
      address += stride ? index * *stride * pattern.bytes
                        : index << (20 + 14 * std::min<size_t>(d, 2));
    }
    sectors.insert(address >= 0 ? address / sectorBytes
                                : (address - sectorBytes + 1) / sectorBytes);
  }
  int64_t requests = std::max<int64_t>(1, registers / run) * warps;
  return {requests, requests * int64_t(sectors.size())};
}

} // namespace tessera::codegen::gpu
