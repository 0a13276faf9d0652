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

// Folds `width` rows at once: a step combines the halves of two vectors into
// one, which holds both rows. Each row is added up in the order of fold(). With
// four lanes and rows a, b, c and d:
//
//     a0 a1 a2 a3   b0 b1 b2 b3   c0 c1 c2 c3   d0 d1 d2 d3
//     a02 a13 b02 b13   c02 c13 d02 d13      (a02 = a0 + a2)
//     a b c d
SmallVector<Value> Emitter::foldRows(tile::ReduceOp op,
                                     std::vector<SmallVector<Value>> rows) {
  const Type element = tile::elementType(op.getSrc().getType());
  const auto width = int32_t(rows.size());
  for (int32_t length = width; length > 1; length /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t start = 0; start < 2 * width; start += length)
      for (int32_t i = 0; i < length / 2; ++i) {
        low.push_back(start + i);
        high.push_back(start + i + length / 2);
      }
    std::vector<SmallVector<Value>> next;
    for (size_t r = 0; r < rows.size(); r += 2) {
      SmallVector<Value> x, y;
      for (auto [first, second] : llvm::zip_equal(rows[r], rows[r + 1])) {
        x.push_back(lanes.shuffle(first, second, low));
        y.push_back(lanes.shuffle(first, second, high));
      }
      next.push_back(combineAny(op.getKind(), element, x, y));
    }
    rows = std::move(next);
  }
  return rows.front();
}

// Reduces the row at `outer`, the index without the axis, to one vector; along
// another dimension than the lane, to the result.
SmallVector<Value> Emitter::reduceRow(tile::ReduceOp op, const Index &outer,
                                      int lane, int64_t width) {
  Value source = op.getSrc();
  const int axis = int(op.getAxis());
  const bool along = lane == axis;
  Type element = tile::elementType(source.getType());
  Index index;
  index.width = width;
  index.lane = width > 1 ? lane : -1;
  return carry(
      tile::shapeOf(source.getType())[axis], along ? width : 1,
      identity(op.getKind(), element, width), [&](Value at, ValueRange so) {
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
}

// True if emitReduce() may reduce `width` of `rows` adjacent rows at once. Rows
// of more vectors spend little time in fold(), and the code would grow.
bool Emitter::reducesRowsTogether(tile::ReduceOp op, int lane, int64_t width,
                                  int64_t rows) const {
  constexpr int64_t most = 4; // vectors of a row
  const int64_t size = tile::shapeOf(op.getSrc().getType())[op.getAxis()];
  Type element = registerType(tile::elementType(op.getSrc().getType()));
  return lane == int(op.getAxis()) && width > 1 && rows % width == 0 &&
         size <= most * width && plan.bufferOf(op.getSrc()) >= 0 &&
         element.getIntOrFloatBitWidth() >= 32;
}

void Emitter::emitReduce(tile::ReduceOp op) {
  Value source = op.getSrc();
  ArrayRef<int64_t> shape = tile::shapeOf(source.getType());
  int axis = int(op.getAxis()), last = int(shape.size()) - 1;
  int lane = chooseLane(shape, {source}, last);
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]);
  bool along = lane == axis;
  SmallVector<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  Type resultElement = tile::elementType(op.getType());
  const int rows = int(kept.size()) - 1;
  if (rows >= 0 && reducesRowsTogether(op, lane, width, kept[rows])) {
    nest(kept, rows, width, [&](const Index &outer) {
      loc = op.getLoc();
      std::vector<SmallVector<Value>> partial;
      for (int64_t r = 0; r < width; ++r) {
        Index row = outer;
        row.at[rows] = lanes.add(outer.at[rows], lanes.i64(r));
        partial.push_back(reduceRow(op, row, lane, width));
      }
      storeLanes(viewOf(plan.bufferOf(op.getResult())), outer, resultElement,
                 Lanes::general(foldRows(op, std::move(partial)).back()));
    });
    return;
  }
  int keptLane = along || lane < 0 ? -1 : lane > axis ? lane - 1 : lane;
  nest(kept, keptLane, along || lane < 0 ? 1 : width, [&](const Index &outer) {
    loc = op.getLoc();
    SmallVector<Value> partial = reduceRow(op, outer, lane, width);
    Value value = along ? fold(op, partial, width) : partial.back();
    if (!isa<RankedTensorType>(op.getType())) {
      scalars[op.getResult()] = value;
      return;
    }
    storeLanes(viewOf(plan.bufferOf(op.getResult())), outer, resultElement,
               isa<VectorType>(value.getType()) ? Lanes::general(value)
                                                : Lanes::uniform(value));
  });
}

} // namespace tessera::codegen::cpu
