// codegen/cpu/Prefetch.cpp - fetches a loop's next tiles while a dot runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loop over tiles of a matrix reads short rows that are far apart. The
// processor predicts no such addresses, so each load waits for the shared cache
// or for memory, while the dot that follows uses neither. Each block of the dot
// therefore fetches a few lines of the next tile to the second cache:
//
//     for %k                                for %k
//       copy tile(%k)                         copy tile(%k)
//       dot: for each block                   dot: for each block
//         multiply                              prefetch some of tile(%k + 1)
//                                               multiply
//
// In the last iteration it fetches the present tile again. The instruction
// never faults, so masks do not matter.
#include "codegen/cpu/Emitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// Returns the value of a scalar of the body in the next iteration of `loop`, or
// in this one if it is the last.
Value Emitter::scalarAhead(Value value, scf::ForOp loop, Ahead &ahead) {
  if (loop.isDefinedOutsideOfLoop(value))
    return scalar(value);
  if (auto it = ahead.scalars.find(value); it != ahead.scalars.end())
    return it->second;
  Value next;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const bool counter = argument == loop.getInductionVar();
    Value step = scalar(counter ? loop.getStep() : stepOf(loop, argument));
    next = lanes.add(scalar(value),
                     arith::SelectOp::create(b, loc, ahead.more, step,
                                             lanes.zero(step.getType())));
  } else {
    next = repeat(value.getDefiningOp(), loop, ahead);
  }
  return ahead.scalars[value] = next;
}

Value Emitter::repeat(Operation *op, scf::ForOp loop, Ahead &ahead) {
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constant(constantOp.getValue(), constantOp.getType());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalarAhead(operand, loop, ahead));
  if (!isa<tile::LoadOp, tile::AddPtrOp>(op))
    return apply(op, 0, operands);
  // These read their operands from `scalars`.
  Value result = op->getResult(0), before = scalars.lookup(result);
  swapScalars(ahead);
  emitScalar(op);
  swapScalars(ahead);
  std::swap(scalars[result], before);
  return before;
}

void Emitter::swapScalars(Ahead &ahead) {
  for (auto &[value, next] : ahead.scalars)
    std::swap(scalars[value], next);
}

Emitter::Ahead Emitter::lookAhead(tile::DotOp dot) {
  Ahead ahead;
  ahead.tiles = movingTiles(dot, plan, axes);
  if (ahead.tiles.empty())
    return ahead;
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  scf::ForOp made = loops.lookup(loop);
  ahead.more = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::slt,
      lanes.add(made.getInductionVar(), made.getStep()), made.getUpperBound());
  for (const MovingTile &tile : ahead.tiles)
    for (Value value : tile.scalars)
      scalarAhead(value, loop, ahead);
  return ahead;
}

void Emitter::prefetch(Ahead &ahead, Value block, int64_t blocks) {
  if (ahead.tiles.empty())
    return;
  auto saved = std::move(memo);
  memo.clear();
  swapScalars(ahead);
  for (const MovingTile &tile : ahead.tiles) {
    // All powers of two but the blocks.
    const int64_t share = int64_t(
        llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(tile.lines(), blocks))));
    const int64_t columns = std::min(share, tile.linesOfRow);
    Value first = lanes.mul(block, lanes.i64(share));
    if (share * blocks > tile.lines())
      first = arith::MinSIOp::create(b, loc, first,
                                     lanes.i64(tile.lines() - share));
    Value width = lanes.i64(tile.linesOfRow),
          row = arith::DivUIOp::create(b, loc, first, width),
          line = arith::RemUIOp::create(b, loc, first, width);
    memo.clear();
    loop(share / columns, 1, [&](Value r) {
      loop(columns, 1, [&](Value c) {
        Index index;
        index.at.resize(2);
        index.at[tile.across] = lanes.add(row, r);
        index.at[tile.along] =
            lanes.mul(lanes.add(line, c), lanes.i64(tile.elementsOfLine));
        // Reading (0), to the second cache (2 of 3), data (1).
        LLVM::Prefetch::create(
            b, loc, lanes.firstAddress(evaluate(tile.pointers, index)), 0, 2,
            1);
      });
    });
  }
  swapScalars(ahead);
  memo = std::move(saved);
}

} // namespace tessera::codegen::cpu
