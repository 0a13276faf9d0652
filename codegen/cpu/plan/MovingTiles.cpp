// codegen/cpu/plan/MovingTiles.cpp - finds tiles that can be fetched ahead.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/plan/MovingTiles.h"

#include "codegen/analysis/Stride.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

static constexpr int64_t lineBytes = 64;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

// True if `op` can be emitted again with the operands of the next iteration.
static bool isRepeatable(Operation *op, const Plan &plan) {
  if (op->getNumResults() != 1 || plan.bufferOf(op->getResult(0)) >= 0)
    return false;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return !isTile(op->getResult(0)) && !load.getMask();
  if (!isTile(op->getResult(0)))
    return isElementwise(op) || isa<arith::ConstantOp>(op);
  return isCheap(op) && canBeVirtual(op);
}

// True if the address of `load` depends on another load of the body. This
// iteration may not have written yet what that one reads in the next, so the
// address could be anything.
static bool readsByLoaded(tile::LoadOp load, scf::ForOp loop) {
  SmallVector<Value> work = {load.getPtr()};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || loop.isDefinedOutsideOfLoop(value) ||
        !seen.insert(value.getAsOpaquePointer()).second)
      continue;
    if (isa<tile::LoadOp>(op))
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

// Adds to `tile` the scalars of the body that its addresses depend on. Returns
// false if they cannot be computed ahead, or do not move.
static bool findScalars(MovingTile &tile, scf::ForOp loop, const Plan &plan) {
  bool moves = false;
  SmallVector<Value> work = {tile.pointers};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(value) ||
        !seen.insert(value.getAsOpaquePointer()).second)
      continue;
    if (!isTile(value))
      tile.scalars.insert(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != loop.getBody() ||
          (argument != loop.getInductionVar() && !stepOf(loop, argument)))
        return false;
      moves = true;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != loop.getBody() || !isRepeatable(op, plan))
      return false;
    if (auto load = dyn_cast<tile::LoadOp>(op);
        load && readsByLoaded(load, loop))
      return false;
    llvm::append_range(work, op->getOperands());
  }
  return moves;
}

// Fills in the lines of a tile of two dimensions. Returns false if addresses
// along neither dimension are neighbours. Where that is unknown, assumes it of
// the last dimension.
static bool findLines(MovingTile &tile, Type element,
                      const AxisInfoAnalysis &axes) {
  ArrayRef<int64_t> shape = tile::shapeOf(tile.pointers.getType());
  tile.elementsOfLine = lineBytes / tile::bytesInMemory(element);
  const AxisInfo info = axes.of(tile.pointers);
  if (shape.size() != 2)
    return false;
  auto areNeighbours = [&](unsigned dim) {
    return shape[dim] >= tile.elementsOfLine &&
           info.axes[dim].contiguity >= tile.elementsOfLine;
  };
  tile.along = !areNeighbours(1) && areNeighbours(0) ? 0 : 1;
  tile.across = 1 - tile.along;
  tile.rows = shape[tile.across];
  tile.linesOfRow = shape[tile.along] / tile.elementsOfLine;
  return tile.linesOfRow > 0 &&
         (areNeighbours(tile.along) ||
          strideAlong(tile.pointers, 1).value_or(1) == 1);
}

// Returns the first dot after `load` in its block, or else the block's first.
static Operation *dotAfter(tile::LoadOp load) {
  auto dots = load->getBlock()->getOps<tile::DotOp>();
  for (tile::DotOp dot : dots)
    if (load->isBeforeInBlock(dot))
      return dot;
  return *dots.begin();
}

Value stepOf(scf::ForOp loop, BlockArgument argument) {
  if (isTile(argument))
    return {};
  auto sum = loop.getTiedLoopYieldedValue(argument)
                 ->get()
                 .getDefiningOp<arith::AddIOp>();
  if (!sum || (sum.getLhs() != argument && sum.getRhs() != argument))
    return {};
  Value step = sum.getLhs() == argument ? sum.getRhs() : sum.getLhs();
  return loop.isDefinedOutsideOfLoop(step) ? step : Value();
}

SmallVector<MovingTile> movingTiles(tile::DotOp dot, const Plan &plan,
                                    const AxisInfoAnalysis &axes) {
  SmallVector<MovingTile> tiles;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType());
  if (!loop || shape.size() != 2)
    return tiles;
  // A prefetch with its address takes about as long as four multiply-adds of
  // vectors, and is of no use if the line is in the second cache already.
  constexpr int64_t worth = 16;
  const int64_t depth = tile::shapeOf(dot.getA().getType())[1];
  int64_t left = shape[0] * shape[1] * depth /
                 (lineBytes / int64_t(sizeof(float))) / worth;
  for (auto load : dot->getBlock()->getOps<tile::LoadOp>()) {
    MovingTile tile;
    tile.pointers = load.getPtr();
    if (!isTile(tile.pointers) || dotAfter(load) != dot ||
        !findLines(tile, tile::elementType(load.getType()), axes) ||
        tile.lines() > left || !findScalars(tile, loop, plan))
      continue;
    left -= tile.lines();
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

} // namespace tessera::codegen::cpu
