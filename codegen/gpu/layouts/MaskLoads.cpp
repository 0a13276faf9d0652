// codegen/gpu/layouts/MaskLoads.cpp - moves conditions of selects into masks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The pass applies where f maps zeros to zero, because a masked-off element of
// the load is 0:
//
//     x = load p, m                     x = load p, m & c
//     y = f(x)                          y = f(x)
//     z = select c, y, 0
//
// One `and` per row often replaces one select per element, and the load reads
// fewer sectors. Loads without a mask stay as they are: a mask would cost them
// a register move per element.
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-mask-loads"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_MASKLOADSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// True if `value` is a constant whose bits are all 0.
bool isZero(Value value) {
  DenseElementsAttr dense;
  if (!matchPattern(value, m_Constant(&dense)) || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().isPosZero();
  return dense.getElementType().isIntOrIndex() &&
         dense.getSplatValue<APInt>().isZero();
}

// Collects the masked loads from which `value` is computed. Returns false
// unless all operations between map zeros to zero and have exactly one use.
bool collect(Value value, Block *block, SmallVectorImpl<tile::LoadOp> &loads) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || !value.hasOneUse())
    return false;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (!load.getMask() || load.getIsVolatile() ||
        (load.getOther() && !isZero(load.getOther())) ||
        !isa<RankedTensorType>(load.getMask().getType()))
      return false;
    loads.push_back(load);
    return true;
  }
  // Each of these operations gives +0 for operands +0 (IEEE 754, 6.3).
  if (!isa<tile::ConvertOp, arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
           arith::MulFOp, arith::AddFOp, arith::SubFOp, arith::MulIOp,
           arith::AddIOp, arith::SubIOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return collect(operand, block, loads);
  });
}

// Collects the operations that must move before `place` so that `value` is
// available there. Returns false if one of them cannot move.
bool collectBefore(Value value, Operation *place,
                   llvm::SetVector<Operation *> &moved) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != place->getBlock() || op->isBeforeInBlock(place))
    return true;
  if (op == place || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  for (Value operand : op->getOperands())
    if (!collectBefore(operand, place, moved))
      return false;
  moved.insert(op);
  return true;
}

struct MaskLoadsPass : public impl::MaskLoadsPassBase<MaskLoadsPass> {
  using Base::Base;

  void runOnOperation() final {
    SmallVector<arith::SelectOp> selects;
    getOperation().walk(
        [&](arith::SelectOp select) { selects.push_back(select); });
    for (arith::SelectOp select : selects)
      sink(select);
  }

private:
  static void sink(arith::SelectOp select) {
    Value condition = select.getCondition(), value = select.getTrueValue();
    SmallVector<tile::LoadOp> loads;
    if (!isa<RankedTensorType>(condition.getType()) ||
        !isZero(select.getFalseValue()) ||
        !collect(value, select->getBlock(), loads))
      return;
    tile::LoadOp first =
        *llvm::min_element(loads, [](tile::LoadOp a, tile::LoadOp b) {
          return a->isBeforeInBlock(b);
        });
    llvm::SetVector<Operation *> moved;
    if (!collectBefore(condition, first, moved))
      return;
    for (Operation *op : moved)
      op->moveBefore(first);
    for (tile::LoadOp load : loads) {
      LDBG() << "mask of the load at " << load.getLoc()
             << " gets the condition of the select at " << select.getLoc();
      OpBuilder builder(load);
      load.getMaskMutable().assign(arith::AndIOp::create(
          builder, select.getLoc(), load.getMask(), condition));
    }
    select.replaceAllUsesWith(value);
    select.erase();
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
