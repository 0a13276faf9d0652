// codegen/gpu/layouts/ResultAccesses.cpp - layouts of accesses to dot results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/LayoutPropagation.h"
#include "dialect/tile/DotInstruction.h"

using namespace mlir;

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

} // namespace tessera::codegen::gpu
