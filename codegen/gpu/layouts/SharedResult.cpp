// codegen/gpu/layouts/SharedResult.cpp - spreads results of reductions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/SharedResult.h"

#include "codegen/gpu/layouts/Transfer.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/Share.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {

// True if all 32 lanes combine 32-bit integers: redux.sync then takes one
// instruction per row and gives the result to every lane.
static bool hasWarpInstruction(tile::ReduceOp op, const LinearLayout &operand) {
  return tile::elementType(op.getSrc().getType()).isInteger(32) &&
         llvm::all_of(
             layout::slice(operand, int(op.getAxis())).columns(Dim::Lane),
             [](layout::Word column) { return !column; });
}

// True if no value computed from `value`, up to the next reduction, is
// broadcast or is an operand of a dot. Then no lane needs more than its share.
static bool staysSmall(Value value) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work = {value};
  auto follow = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    // The result of a reduction gets a separate layout.
    if (isa<tile::StoreOp, tile::ReduceOp>(user))
      return true;
    if (auto loop = dyn_cast<scf::ForOp>(user)) {
      unsigned first = unsigned(loop.getNumControlOperands());
      if (use.getOperandNumber() >= first)
        work.push_back(loop.getRegionIterArg(use.getOperandNumber() - first));
      return true;
    }
    if (isa<scf::YieldOp>(user)) {
      Operation *parent = user->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        work.push_back(loop.getRegionIterArg(use.getOperandNumber()));
      work.push_back(parent->getResult(use.getOperandNumber()));
      return isa<scf::ForOp, scf::IfOp>(parent);
    }
    llvm::append_range(work, user->getResults());
    return isElementwise(user) ||
           isa<tile::ReshapeOp, tile::SortOp, tile::GatherOp>(user);
  };
  while (!work.empty()) {
    Value each = work.pop_back_val();
    if (!isa<RankedTensorType>(each.getType()) || !seen.insert(each).second)
      continue;
    for (OpOperand &use : each.getUses())
      if (!follow(use))
        return false;
  }
  return true;
}

std::optional<LinearLayout> sharedResult(Operation *op,
                                         const LinearLayout &operand) {
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  if (!reduce || hasWarpInstruction(reduce, operand))
    return std::nullopt;
  auto shares = layout::scatteredSlice(operand, int(reduce.getAxis()));
  return shares && staysSmall(reduce.getResult()) ? shares : std::nullopt;
}

} // namespace tessera::codegen::gpu
