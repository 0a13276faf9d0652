// codegen/cpu/CarriedOffsets.cpp - carries a scalar offset instead of a tensor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loop often carries a tensor of pointers or indices that moves by the same
// amount in each iteration. The pass carries the amount instead:
//
//     for iter_args(%p = %init)            for iter_args(%o = 0)
//       load %p                              %p = addptr(%init, splat(%o))
//       yield addptr(%p, splat(%step))       load %p
//                                            yield %o + %step
//
// The amount is computed before the loop, if possible: Prefetch.cpp needs it
// early.
#include "codegen/cpu/CarriedOffsets.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// Returns the scalar that every element of `value` equals; null if there is
// none.
static Value uniformScalar(OpBuilder &b, Value value) {
  DenseElementsAttr dense;
  if (matchPattern(value, m_Constant(&dense)) && dense.isSplat())
    return arith::ConstantOp::create(
        b, value.getLoc(), cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto splat = dyn_cast<tile::SplatOp>(op))
    return splat.getSrc();
  if (isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp>(op))
    return uniformScalar(b, op->getOperand(0));
  if (isa<arith::ExtSIOp, arith::AddIOp, arith::MulIOp, arith::SubIOp>(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(uniformScalar(b, operand));
      if (!operands.back())
        return {};
    }
    OperationState state(op->getLoc(), op->getName(), operands,
                         tile::elementType(value.getType()));
    return b.create(state)->getResult(0);
  }
  return {};
}

// Returns the amount by which every element of `next` differs from `argument`,
// in the type of the offset; null if `next` is not a chain of additions.
static Value movement(OpBuilder &b, Value argument, Value next, Type type) {
  Value total;
  while (next != argument) {
    Operation *op = next.getDefiningOp();
    if (!op || op->getBlock() != argument.getParentBlock())
      return {};
    int moving = 0;
    if (isa<arith::AddIOp>(op)) {
      // The side that leads back to the argument.
      Value probe = op->getOperand(1);
      while (probe != argument && probe.getDefiningOp<arith::AddIOp>())
        probe = probe.getDefiningOp()->getOperand(0);
      moving = probe == argument ? 1 : 0;
    } else if (!isa<tile::AddPtrOp, arith::SubIOp>(op)) {
      return {};
    }
    Value step = uniformScalar(b, op->getOperand(1 - moving));
    if (!step)
      return {};
    if (step.getType() != type)
      step = arith::ExtSIOp::create(b, op->getLoc(), type, step);
    if (isa<arith::SubIOp>(op))
      step = arith::SubIOp::create(
          b, op->getLoc(),
          arith::ConstantOp::create(b, op->getLoc(), IntegerAttr::get(type, 0)),
          step);
    total = total ? Value(arith::AddIOp::create(b, op->getLoc(), total, step))
                  : step;
    next = op->getOperand(moving);
  }
  return total;
}

static Value moved(OpBuilder &b, Location loc, Value start, Value offset) {
  auto type = cast<RankedTensorType>(start.getType());
  auto offsets = RankedTensorType::get(type.getShape(), offset.getType());
  Value by = tile::SplatOp::create(b, loc, offsets, offset);
  if (isa<tile::PtrType>(type.getElementType()))
    return tile::AddPtrOp::create(b, loc, type, start, by);
  return arith::AddIOp::create(b, loc, start, by);
}

// Moves the operations that compute `value` before the loop if they depend on
// nothing inside.
static void hoist(scf::ForOp loop, Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || loop.isDefinedOutsideOfLoop(value) ||
      !isPure(op))
    return;
  for (Value operand : op->getOperands())
    hoist(loop, operand);
  if (llvm::all_of(op->getOperands(), [&](Value operand) {
        return loop.isDefinedOutsideOfLoop(operand);
      }))
    loop.moveOutOfLoop(op);
}

static void rewrite(IRRewriter &b, scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  struct Carried {
    unsigned index;
    Value step;
    Type type;
  };
  SmallVector<Carried> found;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    Value argument = loop.getRegionIterArg(i);
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor || yield.getOperand(i) == argument)
      continue;
    Type element = tensor.getElementType();
    Type type = isa<tile::PtrType>(element) ? b.getI64Type() : element;
    if (!isa<IntegerType>(type) || type.isInteger(1))
      continue;
    b.setInsertionPoint(yield);
    if (Value step = movement(b, argument, yield.getOperand(i), type)) {
      hoist(loop, step);
      found.push_back({i, step, type});
    }
  }
  if (found.empty())
    return;
  b.setInsertionPoint(loop);
  SmallVector<Value> zeros;
  for (const Carried &each : found)
    zeros.push_back(arith::ConstantOp::create(b, loop.getLoc(),
                                              IntegerAttr::get(each.type, 0)));
  unsigned before = loop.getNumRegionIterArgs();
  auto made = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      b, zeros, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inner, Location loc, ArrayRef<BlockArgument> arguments) {
        SmallVector<Value> sums;
        for (auto [each, argument] : llvm::zip(found, arguments))
          sums.push_back(
              arith::AddIOp::create(inner, loc, argument, each.step));
        return sums;
      }));
  yield = cast<scf::YieldOp>(made.getBody()->getTerminator());
  for (auto [n, each] : llvm::enumerate(found)) {
    Value init = made.getInitArgs()[each.index];
    BlockArgument argument = made.getRegionIterArg(each.index);
    b.setInsertionPointToStart(made.getBody());
    Value here =
        moved(b, made.getLoc(), init, made.getRegionIterArg(before + n));
    argument.replaceAllUsesWith(here);
    yield.setOperand(each.index, argument);
    b.setInsertionPointAfter(made);
    Value result = made.getResult(each.index);
    result.replaceAllUsesWith(
        moved(b, made.getLoc(), init, made.getResult(before + n)));
  }
}

void carryOffsets(func::FuncOp function) {
  IRRewriter b(function.getContext());
  SmallVector<scf::ForOp> loops;
  // Inner loops first: their results become sums of their initial values.
  function.walk<WalkOrder::PostOrder>(
      [&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    rewrite(b, loop);
  RewritePatternSet patterns(function.getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, function.getContext());
  (void)applyPatternsGreedily(function, std::move(patterns));
}

} // namespace tessera::codegen::cpu
