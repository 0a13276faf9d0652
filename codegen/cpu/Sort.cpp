// codegen/cpu/Sort.cpp - sorts rows in ascending or descending order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sorts each row in place with a bitonic network. Each power of two up to the
// size is a stage of merges, which compare element i with element i + distance.
// Several short rows are sorted at once: a vector holds the same element of
// each.
#include "codegen/cpu/Emitter.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// Longer networks would be thousands of instructions.
constexpr int64_t kMostVectors = 32;
constexpr int64_t kLeastRows = 4;

void Emitter::emitSort(tile::SortOp op) {
  const View view = viewOf(plan.bufferOf(op.getResult()));
  deliver(op.getSrc(), view);
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType());
  const int64_t size = shape.back();
  const int64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const int64_t atOnce = std::min(
      {rows, size,
       int64_t(options.vectorBits / view.stored.getIntOrFloatBitWidth())});
  if (size <= kMostVectors && atOnce >= kLeastRows)
    sortVectors(op, view, atOnce);
  else
    sortElements(op, view);
}

Value Emitter::comesLater(tile::SortOp op, Value x, Value y) {
  Type element = tile::elementType(op.getType());
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return arith::CmpIOp::create(b, loc,
                               op.getIsUnsigned() || element.isInteger(1)
                                   ? arith::CmpIPredicate::ugt
                                   : arith::CmpIPredicate::sgt,
                               x, y);
}

// Sorts `rows` rows at a time in registers: the network has neither branches
// nor memory accesses.
void Emitter::sortVectors(tile::SortOp op, const View &view, int64_t rows) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType());
  Type element = tile::elementType(op.getType());
  const int64_t size = shape.back();
  const int lane = int(shape.size()) - 2;
  nest(shape.drop_back(), lane, rows, [&](const Index &outer) {
    auto address = [&](int64_t row, int64_t column) {
      Index index = outer;
      index.at[lane] = lanes.add(outer.at[lane], lanes.i64(row));
      index.at.push_back(lanes.i64(column));
      return elementAddress(view, index);
    };
    SmallVector<Value> vectors; // one per column
    for (int64_t first = 0; first < size; first += rows) {
      for (int64_t row = 0; row < rows; ++row)
        vectors.push_back(loadView(view, address(row, first), rows));
      transposeVectors(MutableArrayRef(vectors).take_back(rows));
    }
    for (Value &vector : vectors)
      vector = fromStored(view, element, vector);
    for (int64_t run = 2; run <= size; run *= 2)
      for (int64_t distance = run / 2; distance >= 1; distance /= 2)
        for (int64_t i = 0; i < size; ++i) {
          if (i & distance)
            continue;
          // Runs alternate in direction; the last run has the requested one.
          const bool turned = bool(i & run) != op.getDescending();
          Value x = vectors[i], y = vectors[i + distance];
          Value swap = turned ? comesLater(op, y, x) : comesLater(op, x, y);
          vectors[i] = arith::SelectOp::create(b, loc, swap, y, x);
          vectors[i + distance] = arith::SelectOp::create(b, loc, swap, x, y);
        }
    for (Value &vector : vectors)
      vector = toStored(view, element, vector);
    for (int64_t first = 0; first < size; first += rows) {
      auto block = MutableArrayRef(vectors).slice(first, rows);
      transposeVectors(block);
      for (int64_t row = 0; row < rows; ++row)
        storeView(view, address(row, first), block[row]);
    }
  });
}

void Emitter::sortElements(tile::SortOp op, const View &view) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType());
  Type element = tile::elementType(op.getType());
  const int64_t size = shape.back();
  nest(shape.drop_back(), -1, 1, [&](const Index &outer) {
    auto at = [&](Value i) {
      Index index = outer;
      index.at.push_back(i);
      return elementAddress(view, index);
    };
    for (int64_t run = 2; run <= size; run *= 2)
      for (int64_t distance = run / 2; distance >= 1; distance /= 2)
        loop(size / (2 * distance), 1, [&](Value group) {
          Value first = lanes.mul(group, lanes.i64(2 * distance));
          // Runs alternate in direction; the last run has the requested one.
          Value turned = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::ne,
              arith::AndIOp::create(b, loc, first, lanes.i64(run)),
              lanes.i64(0));
          if (op.getDescending())
            turned = arith::XOrIOp::create(b, loc, turned,
                                           lanes.integer(b.getI1Type(), 1));
          loop(distance, 1, [&](Value offset) {
            Value low = at(lanes.add(first, offset));
            Value high =
                at(lanes.add(lanes.add(first, offset), lanes.i64(distance)));
            Value x = loadView(view, low, 1), y = loadView(view, high, 1);
            Value later = comesLater(op, fromStored(view, element, x),
                                     fromStored(view, element, y));
            Value earlier = comesLater(op, fromStored(view, element, y),
                                       fromStored(view, element, x));
            Value swap =
                arith::SelectOp::create(b, loc, turned, earlier, later);
            storeView(view, low, arith::SelectOp::create(b, loc, swap, y, x));
            storeView(view, high, arith::SelectOp::create(b, loc, swap, x, y));
          });
        });
  });
}

} // namespace tessera::codegen::cpu
