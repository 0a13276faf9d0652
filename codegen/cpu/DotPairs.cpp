// codegen/cpu/DotPairs.cpp - packs operands of dots of bf16 in pairs along K.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// Packs two bf16 values, held as f32, into the halves of an i32: `low` into the
// lower half, `high` into the upper one.
Value Emitter::pairOf(Value low, Value high) {
  Type type = lanes.like(low, b.getI32Type());
  auto bits = [&](Value value) -> Value {
    return arith::BitcastOp::create(b, loc, type, value);
  };
  return arith::OrIOp::create(
      b, loc,
      arith::ShRUIOp::create(b, loc, bits(low), lanes.integer(type, 16)),
      arith::AndIOp::create(b, loc, bits(high),
                            lanes.integer(type, 0xffff0000)));
}

// Writes `value`, [K, columns], to `view` as pairs along K, [K / 2, columns].
void Emitter::pack(Value value, const View &view) {
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  const bool held = plan.bufferOf(value) >= 0;
  auto at = [&](const Index &index) {
    Lanes found = held ? evaluate(value, index) : expression(value, index);
    return lanes.vector(found, index.width);
  };
  int lane = chooseLane(shape, {value}, 1, !held);
  int64_t square = std::min(laneWidth(shape[0] / 2), laneWidth(shape[1]));
  if (lane == 0 && square >= 4)
    return packColumns(value, view, square, at);
  int64_t width = laneWidth(shape[1]);
  nest({shape[0] / 2, shape[1]}, 1, width, [&](const Index &pair) {
    Index index = pair;
    Value k = lanes.mul(pair.at[0], lanes.i64(2));
    index.at[0] = k;
    Value low = at(index);
    index.at[0] = lanes.add(k, lanes.i64(1));
    Value high = at(index);
    storeView(view, elementAddress(view, pair), pairOf(low, high));
  });
}

// Packs a value whose neighbours along K are adjacent in memory: reads blocks
// of square x square pairs along K and transposes them in registers.
void Emitter::packColumns(Value value, const View &view, int64_t square,
                          llvm::function_ref<Value(const Index &)> at) {
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  auto saved = std::move(memo);
  memo.clear();
  auto pairs = VectorType::get({square}, b.getI32Type());
  loop(shape[0] / 2, square, [&](Value pair) {
    loop(shape[1], square, [&](Value column) {
      Index index;
      index.lane = 0;
      index.width = 2 * square;
      SmallVector<Value> rows;
      for (int64_t r = 0; r < square; ++r) {
        index.at = {lanes.mul(pair, lanes.i64(2)),
                    lanes.add(column, lanes.i64(r))};
        Value bits = lanes.narrowBits(b.getBF16Type(), at(index));
        rows.push_back(LLVM::BitcastOp::create(b, loc, pairs, bits));
      }
      transposeVectors(rows);
      Index target;
      for (int64_t r = 0; r < square; ++r) {
        target.at = {lanes.add(pair, lanes.i64(r)), column};
        storeView(view, elementAddress(view, target), rows[r]);
      }
    });
  });
  memo = std::move(saved);
}

Value Emitter::multiplyPairs(Value left, Value right, Value sum) {
  int64_t width = cast<VectorType>(sum.getType()).getNumElements();
  auto halves = VectorType::get({2 * width}, b.getBF16Type());
  auto cast = [&](Value value) -> Value {
    return LLVM::BitcastOp::create(b, loc, halves, value);
  };
  auto name = b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps." +
                              std::to_string(32 * width));
  return LLVM::CallIntrinsicOp::create(b, loc, sum.getType(), name,
                                       ValueRange{sum, cast(left), cast(right)})
      .getResults();
}

void Emitter::emitPairedDot(tile::DotOp op, const View &c, VectorAt start) {
  int64_t rows = tile::shapeOf(op.getType())[0];
  int64_t depth = tile::shapeOf(op.getA().getType())[1];
  View a;
  auto trans = op.getA().getDefiningOp<tile::TransOp>();
  if (int id = trans ? plan.packedOf(trans.getSrc()) : -1; id >= 0) {
    a = viewOf(id);
    a.strides = {1, rows};
  } else {
    a = viewOf(plan.bufferOf(op.getA()));
    a.stored = b.getI32Type();
    a.strides = {depth / 2, 1};
  }
  int packed = plan.packedOf(op.getB());
  if (packed < 0 && (packed = plan.packedFor(op)) >= 0)
    pack(op.getB(), viewOf(packed));
  if (packed >= 0) {
    View right = viewOf(packed);
    return dotMatrices(
        op, a,
        [&](Value row, Value column, int64_t width) {
          Index index;
          index.at = {row, column};
          return loadView(right, elementAddress(right, index), width);
        },
        c, start, true);
  }
  dotMatrices(
      op, a,
      [&](Value row, Value column, int64_t width) {
        auto at = [&](int64_t half) {
          Index index;
          index.at = {lanes.add(lanes.mul(row, lanes.i64(2)), lanes.i64(half)),
                      column};
          index.lane = 1;
          index.width = width;
          return lanes.vector(evaluate(op.getB(), index), width);
        };
        Value low = at(0);
        return pairOf(low, at(1));
      },
      c, start, true);
}

} // namespace tessera::codegen::cpu
