// codegen/gpu/layouts/ResultAccesses.cpp - accesses in the layouts of values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/LayoutPropagation.h"
#include "codegen/gpu/layouts/Traffic.h"
#include "dialect/tile/DotInstruction.h"

#include <algorithm>
#include <vector>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {
namespace {

// Returns the dot whose accumulator is `value`, possibly through the result of
// an `if`. Returns null if no dot does, or if `value` has other uses.
tile::DotOp dotThatAddsTo(Value value) {
  if (!value.hasOneUse())
    return {};
  OpOperand &use = *value.getUses().begin();
  if (auto dot = dyn_cast<tile::DotOp>(use.getOwner()))
    return dot.getAcc() == value ? dot : tile::DotOp();
  if (isa<scf::YieldOp>(use.getOwner()))
    if (auto branch = dyn_cast<scf::IfOp>(use.getOwner()->getParentOp()))
      return dotThatAddsTo(branch.getResult(use.getOperandNumber()));
  return {};
}

} // namespace

void takeLayoutsOfDots(func::FuncOp function, Anchors &anchors) {
  for (auto &[access, own] : anchors.access) {
    if (iterationsIn(access->getParentRegion()) == 1)
      continue;
    tile::DotOp dot;
    if (auto store = dyn_cast<tile::StoreOp>(access))
      dot = store.getValue().getDefiningOp<tile::DotOp>();
    else if (auto load = dyn_cast<tile::LoadOp>(access))
      dot = dotThatAddsTo(load.getResult());
    if (!dot || !tile::mmaShapeOf(dot))
      continue;
    if (const tile::LinearAttr layout = anchors.dots.lookup(dot).acc)
      own = layout;
  }
}

// Returns the layout with its registers in another order: first those that move
// along `axis` alone, from the lowest, so that a lane has neighbours in its
// lowest registers.
static LinearLayout neighboursFirst(const LinearLayout &layout, int axis) {
  const int start = layout.outStart(layout::tileDim(axis));
  const Word along = ((Word(1) << layout.outBits(layout::tileDim(axis))) - 1)
                     << start;
  std::vector<Word> columns = layout.columns();
  const auto first = columns.begin() + layout.inStart(Dim::Register);
  std::stable_sort(first, first + layout.inBits(Dim::Register),
                   [&](Word a, Word b) {
                     const bool alone = a && !(a & ~along);
                     if (alone != (b && !(b & ~along)))
                       return alone;
                     return alone && a < b;
                   });
  return LinearLayout(layout.ins(), layout.outs(), columns);
}

void LayoutPropagation::storeInPlace() {
  for (auto &[op, layout] : accesses) {
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store || isSmallAccess(store) || !isRematerializable(store.getPtr()) ||
        (store.getMask() && !isRematerializable(store.getMask())))
      continue;
    const tile::LinearAttr value = assigned(store.getValue());
    int axis = 0;
    const int64_t width = neighboursInLane(layout.layout(), axis);
    if (!value || value == layout || axis < 0)
      continue;
    const LinearLayout here = neighboursFirst(value.layout(), axis);
    const AccessPattern pattern = patternOf(store, axis, width);
    const Traffic own = trafficOf(layout.layout(), pattern),
                  moved = trafficOf(here, pattern);
    if (moved.sectors <= own.sectors && moved.requests <= own.requests)
      layout = attr(here);
  }
}

} // namespace tessera::codegen::gpu
