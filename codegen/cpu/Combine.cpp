// codegen/cpu/Combine.cpp - reductions and scans by a region.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// True if the region consists of operations that work on vectors as well.
static bool isElementwiseRegion(Region &region) {
  return llvm::all_of(region.front().without_terminator(), [](Operation &op) {
    return isElementwise(&op) && llvm::none_of(op.getResultTypes(), [](Type t) {
             return isa<tile::PtrType>(t);
           });
  });
}

SmallVector<Value> Emitter::combineRegion(Region &region, ValueRange arguments,
                                          int64_t width) {
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    scalars[argument] = value;
  SmallVector<Value> results;
  if (width == 1) {
    emitBlock(block);
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(scalar(value));
    return results;
  }
  llvm::DenseMap<Value, Value> vectors;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    vectors[argument] = value;
  auto vectorOf = [&](Value value) {
    Value &vector = vectors[value];
    if (!vector)
      vector = lanes.splat(scalar(value), width);
    return vector;
  };
  for (Operation &op : block.without_terminator()) {
    loc = op.getLoc();
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(vectorOf(operand));
    for (OpResult result : op.getResults())
      vectors[result] = apply(&op, result.getResultNumber(), operands);
  }
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(vectorOf(value));
  return results;
}

// Combines elements in the order of the axis and vectorizes across the other
// dimensions. The region need not be associative or commutative.
void Emitter::emitCombine(Operation *op) {
  auto scan = dyn_cast<tile::ScanByOp>(op);
  auto reduce = dyn_cast<tile::ReduceByOp>(op);
  int axis = int(scan ? scan.getAxis() : reduce.getAxis());
  bool reverse = scan && scan.getReverse();
  Region &region = op->getRegion(0);
  OperandRange sources = op->getOperands();
  ArrayRef<int64_t> shape = tile::shapeOf(sources[0].getType());
  int last = int(shape.size()) - 1;
  int lane = axis == last || shape[last] == 1 || !isElementwiseRegion(region)
                 ? -1
                 : last;
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]), length = shape[axis];
  SmallVector<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  auto asLanes = [](Value value) {
    return isa<VectorType>(value.getType()) ? Lanes::general(value)
                                            : Lanes::uniform(value);
  };
  nest(kept, lane < 0 ? -1 : lane - 1, width, [&](const Index &outer) {
    Index index;
    index.lane = width > 1 ? lane : -1;
    index.width = width;
    auto read = [&](Value at) {
      index.at = outer.at;
      index.at.insert(index.at.begin() + axis, at);
      SmallVector<Value> values;
      for (Value source : sources)
        values.push_back(lanes.vector(evaluate(source, index), width));
      loc = op->getLoc();
      return values;
    };
    auto write = [&](ValueRange values, const Index &where) {
      for (auto [value, result] : llvm::zip(values, op->getResults()))
        if (!isa<RankedTensorType>(result.getType()))
          scalars[result] = value;
        else
          storeLanes(viewOf(plan.bufferOf(result)), where,
                     tile::elementType(result.getType()), asLanes(value));
    };
    loc = op->getLoc();
    SmallVector<Value> so = read(lanes.i64(reverse ? length - 1 : 0));
    if (scan)
      write(so, index);
    if (length > 1)
      so = carry(length - 1, 1, so, [&](Value step, ValueRange before) {
        Value at = reverse ? lanes.sub(lanes.i64(length - 2), step)
                           : lanes.add(step, lanes.i64(1));
        SmallVector<Value> arguments(before);
        arguments.append(read(at));
        SmallVector<Value> next = combineRegion(region, arguments, width);
        loc = op->getLoc();
        if (scan)
          write(next, index);
        return next;
      });
    if (reduce)
      write(so, outer);
  });
}

} // namespace tessera::codegen::cpu
