// codegen/cpu/Reduce.cpp - emits reductions along one axis, in a fixed order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;

namespace tessera::codegen::cpu {

static bool isArg(tile::ReduceKind kind) {
  return kind == tile::ReduceKind::ArgMax || kind == tile::ReduceKind::ArgMin;
}

static bool isMax(tile::ReduceKind kind) {
  return kind == tile::ReduceKind::Max || kind == tile::ReduceKind::ArgMax;
}

// Returns the initial value, which every element replaces: NaN for floats
// (maxnum ignores it, and a row of NaN keeps it), the end of the range for
// integers.
Value Emitter::lowest(Type element, bool largest) {
  Type type = registerType(element);
  if (isa<FloatType>(type))
    return lanes.real(type, std::numeric_limits<double>::quiet_NaN());
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt value =
      largest ? APInt::getSignedMinValue(bits) : APInt::getSignedMaxValue(bits);
  return lanes.integer(type, value.getSExtValue());
}

SmallVector<Value> Emitter::identity(tile::ReduceKind kind, Type element,
                                     int64_t width) {
  Type type = registerType(element);
  Value value;
  switch (kind) {
  case tile::ReduceKind::Sum:
  case tile::ReduceKind::Or:
  case tile::ReduceKind::Xor:
  case tile::ReduceKind::UMax:
    value = lanes.zero(type);
    break;
  case tile::ReduceKind::And:
  case tile::ReduceKind::UMin:
    value = lanes.integer(type, -1);
    break;
  default:
    value = lowest(element, isMax(kind));
    break;
  }
  SmallVector<Value> result = {lanes.splat(value, width)};
  if (isArg(kind))
    result.push_back(lanes.splat(lanes.integer(b.getI32Type(), 0), width));
  return result;
}

Value Emitter::combine(tile::ReduceKind kind, Type element, Value x, Value y) {
  bool real = isa<FloatType>(registerType(element));
  switch (kind) {
  case tile::ReduceKind::Sum:
    if (!real)
      return arith::AddIOp::create(b, loc, x, y);
    return lanes.roundTo(element, arith::AddFOp::create(b, loc, x, y));
  case tile::ReduceKind::Max:
    return real ? Value(arith::MaxNumFOp::create(b, loc, x, y))
                : Value(arith::MaxSIOp::create(b, loc, x, y));
  case tile::ReduceKind::Min:
    return real ? Value(arith::MinNumFOp::create(b, loc, x, y))
                : Value(arith::MinSIOp::create(b, loc, x, y));
  case tile::ReduceKind::And:
    return arith::AndIOp::create(b, loc, x, y);
  case tile::ReduceKind::Or:
    return arith::OrIOp::create(b, loc, x, y);
  case tile::ReduceKind::Xor:
    return arith::XOrIOp::create(b, loc, x, y);
  case tile::ReduceKind::UMax:
    return arith::MaxUIOp::create(b, loc, x, y);
  case tile::ReduceKind::UMin:
    return arith::MinUIOp::create(b, loc, x, y);
  default:
    return x;
  }
}

SmallVector<Value> Emitter::combineAny(tile::ReduceKind kind, Type element,
                                       ValueRange x, ValueRange y) {
  if (!isArg(kind))
    return {combine(kind, element, x[0], y[0])};
  // Takes y if it is better, if it is equal and has the lower index, or if it
  // is a number and x is NaN.
  Value better, equal;
  if (isa<FloatType>(registerType(element))) {
    using P = arith::CmpFPredicate;
    better = arith::CmpFOp::create(b, loc, isMax(kind) ? P::OGT : P::OLT, y[0],
                                   x[0]);
    equal = arith::CmpFOp::create(b, loc, P::OEQ, y[0], x[0]);
    Value number = arith::AndIOp::create(
        b, loc, arith::CmpFOp::create(b, loc, P::UNO, x[0], x[0]),
        arith::CmpFOp::create(b, loc, P::ORD, y[0], y[0]));
    better = arith::OrIOp::create(b, loc, better, number);
  } else {
    using P = arith::CmpIPredicate;
    better = arith::CmpIOp::create(b, loc, isMax(kind) ? P::sgt : P::slt, y[0],
                                   x[0]);
    equal = arith::CmpIOp::create(b, loc, P::eq, y[0], x[0]);
  }
  Value lower =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, y[1], x[1]);
  Value take = arith::OrIOp::create(
      b, loc, better, arith::AndIOp::create(b, loc, equal, lower));
  return {arith::SelectOp::create(b, loc, take, y[0], x[0]),
          arith::SelectOp::create(b, loc, take, y[1], x[1])};
}

// Combines the halves of the vectors until one lane is left.
Value Emitter::fold(tile::ReduceOp op, SmallVector<Value> partial,
                    int64_t width) {
  Type element = tile::elementType(op.getSrc().getType());
  for (int64_t half = width / 2; half >= 1; half /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(int32_t(i + half));
    }
    SmallVector<Value> x, y;
    for (Value vector : partial) {
      x.push_back(lanes.shuffle(vector, vector, low));
      y.push_back(lanes.shuffle(vector, vector, high));
    }
    partial = combineAny(op.getKind(), element, x, y);
  }
  Value result = partial.back();
  return width == 1 ? result : lanes.extract(result, 0);
}

void Emitter::emitReduce(tile::ReduceOp op) {
  Value source = op.getSrc();
  ArrayRef<int64_t> shape = tile::shapeOf(source.getType());
  Type element = tile::elementType(source.getType());
  Type resultElement = tile::elementType(op.getType());
  int axis = int(op.getAxis()), last = int(shape.size()) - 1;
  int lane = chooseLane(shape, {source}, last);
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]);
  bool along = lane == axis;
  SmallVector<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  int keptLane = along || lane < 0 ? -1 : lane > axis ? lane - 1 : lane;
  auto rows = [&](const Index &outer) {
    loc = op.getLoc();
    SmallVector<Value> init = identity(op.getKind(), element, width);
    Index index;
    index.width = width;
    index.lane = width > 1 ? lane : -1;
    SmallVector<Value> partial = carry(
        shape[axis], along ? width : 1, init, [&](Value at, ValueRange so) {
          index.at = outer.at;
          index.at.insert(index.at.begin() + axis, at);
          SmallVector<Value> next = {
              lanes.vector(evaluate(source, index), width)};
          loc = op.getLoc();
          if (isArg(op.getKind())) {
            Value number = arith::TruncIOp::create(b, loc, b.getI32Type(), at);
            Lanes numbers =
                along ? Lanes::affine(number, lanes.integer(b.getI32Type(), 1))
                      : Lanes::uniform(number);
            next.push_back(lanes.vector(numbers, width));
          }
          return combineAny(op.getKind(), element, so, next);
        });
    Value value = along ? fold(op, partial, width) : partial.back();
    if (!isa<RankedTensorType>(op.getType())) {
      scalars[op.getResult()] = value;
      return;
    }
    storeLanes(viewOf(plan.bufferOf(op.getResult())), outer, resultElement,
               isa<VectorType>(value.getType()) ? Lanes::general(value)
                                                : Lanes::uniform(value));
  };
  nest(kept, keptLane, along || lane < 0 ? 1 : width, rows);
}

} // namespace tessera::codegen::cpu
