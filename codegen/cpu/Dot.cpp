// codegen/cpu/Dot.cpp - matrix products in blocks of registers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::codegen::cpu {

static bool isZeroSplat(Value value) {
  DenseElementsAttr dense;
  if (!matchPattern(value, m_Constant(&dense)) || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().isPosZero();
  return dense.getSplatValue<APInt>().isZero();
}

// Emits one block of C in registers: rows x (vectors * width) elements. Each
// step along the depth reads one broadcast of A per row and one vector of B per
// column.
void Emitter::dotBlock(const View &a, VectorAt rightAt, const View &c,
                       VectorAt start, bool pairs, int64_t rows,
                       int64_t vectors, int64_t width, int64_t depth, Value row,
                       Value column) {
  auto at = [&](const View &view, Value i, Value j) {
    Index index;
    index.at = {i, j};
    return elementAddress(view, index);
  };
  SmallVector<Value> rowIndex, columnIndex;
  for (int64_t r = 0; r < rows; ++r)
    rowIndex.push_back(lanes.add(row, lanes.i64(r)));
  for (int64_t v = 0; v < vectors; ++v)
    columnIndex.push_back(lanes.add(column, lanes.i64(v * width)));
  SmallVector<Value> init;
  for (Value i : rowIndex)
    for (Value j : columnIndex)
      init.push_back(start(i, j, width));
  bool real = isa<FloatType>(c.stored);
  int64_t unroll = std::min<int64_t>(depth, 4);
  SmallVector<Value> sums =
      carry(depth, unroll, init, [&](Value k0, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < unroll; ++u) {
          Value k = lanes.add(k0, lanes.i64(u));
          SmallVector<Value> right;
          for (Value j : columnIndex)
            right.push_back(rightAt(k, j, width));
          for (int64_t r = 0; r < rows; ++r) {
            Value left =
                lanes.splat(loadView(a, at(a, rowIndex[r], k), 1), width);
            for (int64_t v = 0; v < vectors; ++v) {
              Value &sum = next[r * vectors + v];
              if (pairs)
                sum = multiplyPairs(left, right[v], sum);
              else if (real)
                sum = LLVM::FMAOp::create(b, loc, left, right[v], sum);
              else
                sum = arith::AddIOp::create(
                    b, loc, sum, arith::MulIOp::create(b, loc, left, right[v]));
            }
          }
        }
        return next;
      });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      storeView(c, at(c, rowIndex[r], columnIndex[v]), sums[r * vectors + v]);
}

// True if the blocks of a dot compute the sums that they start from. A pass
// that stores them first, such as the scaling of an attention's output, would
// write and read the matrix once more.
bool Emitter::startsFromExpression(tile::DotOp op) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType());
  return shape.size() == 2 &&
         plan.bufferOf(op.getAcc()) != plan.bufferOf(op.getResult()) &&
         chooseLane(shape, {op.getAcc()}, 1, true) == 1;
}

void Emitter::emitDot(tile::DotOp op) {
  const int target = plan.bufferOf(op.getResult());
  View c = viewOf(target);
  const bool zero = isZeroSplat(op.getAcc());
  const bool expression = !zero && startsFromExpression(op);
  if (!zero && !expression && plan.bufferOf(op.getAcc()) != target)
    deliver(op.getAcc(), c);
  loc = op.getLoc();
  auto start = [&](Value row, Value column, int64_t width) {
    Index index;
    index.at = {row, column};
    if (zero)
      return lanes.zero(width == 1 ? c.stored
                                   : Type(VectorType::get({width}, c.stored)));
    if (!expression)
      return loadView(c, elementAddress(c, index), width);
    index.lane = width > 1 ? 1 : -1;
    index.width = width;
    Value vector = lanes.vector(evaluate(op.getAcc(), index), width);
    loc = op.getLoc();
    return toStored(c, tile::elementType(op.getType()), vector);
  };
  // Blocks must not reuse values that the code around the dot has read.
  auto saved = std::move(memo);
  memo.clear();
  if (plan.dotsInPairs() && canPair(op))
    emitPairedDot(op, c, start);
  else
    emitFullDot(op, c, start);
  memo = std::move(saved);
}

void Emitter::emitFullDot(tile::DotOp op, const View &c, VectorAt start) {
  View a;
  if (plan.bufferOf(op.getA()) >= 0) {
    a = viewOf(plan.bufferOf(op.getA()));
  } else {
    auto trans = op.getA().getDefiningOp<tile::TransOp>();
    a = viewOf(plan.bufferOf(trans.getSrc()));
    View source = a;
    for (auto [d, from] : llvm::enumerate(trans.getOrder()))
      a.strides[d] = source.strides[from];
  }
  auto held = [&](const View &view) {
    return [this, view](Value row, Value column, int64_t width) {
      Index index;
      index.at = {row, column};
      return loadView(view, elementAddress(view, index), width);
    };
  };
  if (plan.bufferOf(op.getB()) < 0)
    return dotMatrices(
        op, a,
        [&](Value row, Value column, int64_t width) {
          Index index;
          index.at = {row, column};
          index.lane = width > 1 ? 1 : -1;
          index.width = width;
          return lanes.vector(evaluate(op.getB(), index), width);
        },
        c, start);
  View right = viewOf(plan.bufferOf(op.getB()));
  if (tile::shapeOf(op.getType()).size() == 2)
    return dotMatrices(op, a, held(right), c, start);
  loop(tile::shapeOf(op.getType())[0], 1, [&](Value batch) {
    auto matrix = [&](View view) {
      Index index;
      index.at = {batch, lanes.i64(0), lanes.i64(0)};
      view.address = elementAddress(view, index);
      view.strides.erase(view.strides.begin());
      return view;
    };
    const View sums = matrix(c);
    const bool zero = isZeroSplat(op.getAcc());
    dotMatrices(op, matrix(a), held(matrix(right)), sums,
                [&](Value row, Value column, int64_t width) {
                  return zero ? start(row, column, width)
                              : held(sums)(row, column, width);
                });
  });
}

// Returns the number of rows whose sums fit into registers with the operands.
int64_t dotRows(const CpuOptions &options) {
  return options.vectorBits == 512 ? 8 : 4;
}

void Emitter::dotMatrices(tile::DotOp op, const View &a, VectorAt right,
                          const View &c, VectorAt start, bool pairs) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType()).take_back(2);
  int64_t depth = tile::shapeOf(op.getA().getType()).back() / (pairs ? 2 : 1);
  int64_t perVector = options.vectorBits / c.stored.getIntOrFloatBitWidth();
  int64_t width = std::min<int64_t>(shape[1], perVector);
  bool wide = options.vectorBits == 512;
  int64_t rows = std::min<int64_t>(shape[0], dotRows(options));
  int64_t vectors = std::min<int64_t>(
      shape[1] / width,
      std::min<int64_t>((wide ? 16 : 8) / rows, wide ? 4 : 8));
  Ahead ahead = lookAhead(op);
  const int64_t down = shape[0] / rows, across = shape[1] / (vectors * width);
  auto numberOf = [&](Value column, Value row) {
    Value left =
        arith::DivUIOp::create(b, loc, column, lanes.i64(vectors * width));
    Value above = arith::DivUIOp::create(b, loc, row, lanes.i64(rows));
    return lanes.add(lanes.mul(left, lanes.i64(down)), above);
  };
  loop(shape[1], vectors * width, [&](Value column) {
    loop(shape[0], rows, [&](Value row) {
      if (!ahead.tiles.empty())
        prefetch(ahead, numberOf(column, row), down * across);
      dotBlock(a, right, c, start, pairs, rows, vectors, width, depth, row,
               column);
    });
  });
}

} // namespace tessera::codegen::cpu
