// codegen/gpu/layouts/Dots.cpp - layouts for matrix products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Dots.h"

#include "codegen/gpu/layouts/Access.h"
#include "codegen/gpu/layouts/Transfer.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {

std::optional<MmaShape> mmaShapeOf(tile::DotOp dot) {
  Type a = tile::elementType(dot.getA().getType());
  Type b = tile::elementType(dot.getB().getType());
  if (a != b)
    return std::nullopt;
  MmaShape shape;
  if (a.isF16() || a.isBF16())
    shape = {16, 8, 16, 2};
  else if (a.isF32() && dot.getPrecision() != tile::Precision::IEEE)
    shape = {16, 8, 8, 1};
  else if (a.isInteger(8))
    shape = {16, 8, 32, 4};
  else if (a.isF64())
    shape = {8, 8, 4, 1};
  else
    return std::nullopt;
  if (tile::shapeOf(dot.getA().getType()).back() < shape.k)
    return std::nullopt;
  return shape;
}

namespace {

// Along which axis of a dot's result warps should lie.
struct Votes {
  int rows = 0, columns = 0;
  // Its columns become rows of another dot's A, which come 16 to a warp.
  bool columnsAsRows = false;
  // Its A comes from the accumulator of another dot.
  bool chainedA = false;
};

// Follows the elements of `dot`'s result to operands of other dots. Transposing
// on the way swaps rows and columns.
void vote(tile::DotOp dot, llvm::DenseMap<Operation *, Votes> &votes) {
  llvm::DenseSet<std::pair<Value, int>> seen;
  SmallVector<std::pair<Value, bool>> queue = {{dot.getResult(), false}};
  while (!queue.empty()) {
    auto [value, swapped] = queue.pop_back_val();
    if (!seen.insert({value, int(swapped)}).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto next = dyn_cast<tile::DotOp>(user)) {
        if (use.getOperandNumber() == 2)
          continue;
        // The axis that is not summed over: rows of an A, columns of a B.
        bool isA = use.getOperandNumber() == 0;
        (isA ? votes[next].rows : votes[next].columns) += 1;
        (isA != swapped ? votes[dot].rows : votes[dot].columns) += 1;
        votes[next].chainedA |= isA && !swapped;
        votes[dot].columnsAsRows |= isA && swapped;
      } else if (isElementwise(user)) {
        queue.push_back({user->getResult(0), swapped});
      } else if (auto trans = dyn_cast<tile::TransOp>(user)) {
        ArrayRef<int32_t> order = trans.getOrder();
        bool swaps =
            order.size() >= 2 && order.back() + 2 == int32_t(order.size());
        queue.push_back({trans.getResult(), swapped != swaps});
      }
    }
  }
}

// Warps along each axis of the result.
std::vector<int64_t> warpsOf(tile::DotOp dot, const MmaShape &mma,
                             const Votes &votes, int numWarps) {
  std::vector<int64_t> shape = tile::shapeOf(dot.getType()).vec();
  size_t rank = shape.size();
  int64_t m = std::max<int64_t>(1, shape[rank - 2] / mma.m);
  int64_t n = std::max<int64_t>(1, shape[rank - 1] / mma.n);
  int64_t rows = 1;
  if (votes.rows && votes.rows >= votes.columns) {
    rows = std::min<int64_t>(numWarps, m);
  } else if (votes.columns) {
    rows = numWarps / std::min<int64_t>(numWarps, n);
  } else {
    // The least of m / rows (of A) and n / columns (of B) that a warp reads.
    auto cost = [&](int64_t r) {
      int64_t c = numWarps / r;
      return std::max<int64_t>(1, m / r) * mma.m +
             std::max<int64_t>(1, n / c) * mma.n +
             // Warps that only repeat what others do.
             (r > m ? (r / m) * 4096 : 0) + (c > n ? (c / n) * 4096 : 0);
    };
    for (int64_t r = 1; r <= numWarps; r *= 2)
      if (cost(r) <= cost(rows))
        rows = r;
  }
  std::vector<int64_t> warps(rank, 1);
  warps[rank - 2] = rows;
  warps[rank - 1] = numWarps / rows;
  return warps;
}

// The columns of a warp, which lie 8 * warps apart, as neighbours in pairs: bit
// 3 of the column changes from the first warp bit to a register and the warp
// bits move up. `axis` is that of the columns.
LinearLayout withPairedColumns(const LinearLayout &layout, int axis,
                               int warpBits) {
  layout::Dim dim = layout::tileDim(axis);
  int start = layout.outStart(dim);
  auto moved = [&](layout::Word word) {
    layout::Word column = word >> start;
    layout::Word top = column >> (3 + warpBits) & 1;
    layout::Word warps = column >> 3 & ((layout::Word(1) << warpBits) - 1);
    layout::Word mask = (layout::Word(2) << warpBits) - 1;
    layout::Word field = top | warps << 1;
    return (word & ~(mask << (start + 3))) | field << (start + 3);
  };
  std::vector<layout::Word> columns;
  int bits = layout.outBits(dim);
  layout::Word low = (layout::Word(1) << (start + bits)) - 1;
  for (layout::Word column : layout.columns())
    columns.push_back((moved(column & low) & low) | (column & ~low));
  return {layout.ins(), layout.outs(), columns};
}

DotLayouts onTensorCores(tile::DotOp dot, const MmaShape &mma,
                         const Votes &votes, int numWarps) {
  layout::MmaTile tile{warpsOf(dot, mma, votes, numWarps), mma.m};
  auto shape = [](Value value) { return tile::shapeOf(value.getType()).vec(); };
  int64_t kWidth = mma.kWidth;
  // Pairs of neighbours along K, as an accumulator has them: any order of K
  // will do that both operands share.
  if (votes.chainedA && kWidth == 1 && mma.m == 16 &&
      shape(dot.getA()).back() >= 16)
    kWidth = 2;
  DotLayouts layouts;
  layouts.a = layout::mmaOperandA(shape(dot.getA()), tile, kWidth);
  layouts.b = layout::mmaOperandB(shape(dot.getB()), tile, kWidth);
  layouts.acc = layout::mmaAccumulator(shape(dot.getResult()), tile);
  layouts.tensorCore = true;
  int rank = int(tile.warps.size());
  int64_t columnWarps = tile.warps.back();
  if (votes.columnsAsRows && columnWarps > 1 &&
      shape(dot.getResult()).back() >= 16 * columnWarps) {
    int bits = int(llvm::Log2_64(uint64_t(columnWarps)));
    layouts.b = withPairedColumns(*layouts.b, rank - 1, bits);
    layouts.acc = withPairedColumns(layouts.acc, rank - 1, bits);
  }
  return layouts;
}

// Products of a thread that are unrolled (codegen/gpu/lower/Fma.cpp).
constexpr int64_t mostProducts = 1024;

// Up to 4 x 4 results a thread at once, each row and column of the operands
// used four times.
DotLayouts withMultiplyAdds(tile::DotOp dot, int numWarps) {
  std::vector<int64_t> shape = tile::shapeOf(dot.getType()).vec();
  size_t rank = shape.size();
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  int64_t each = elements / (int64_t(numWarps) * layout::lanesPerWarp);
  layout::Blocked how;
  how.perThread.assign(rank, 1);
  how.lanes.assign(rank, 1);
  how.warps.assign(rank, 1);
  int64_t &columns = how.perThread[rank - 1], &rows = how.perThread[rank - 2];
  columns = std::min({shape[rank - 1], each >= 4 ? int64_t(4) : int64_t(1)});
  rows = std::min({shape[rank - 2], each >= 16  ? int64_t(4)
                                    : each >= 8 ? int64_t(2)
                                                : int64_t(1)});
  int64_t lanes = layout::lanesPerWarp, warps = numWarps;
  how.lanes[rank - 1] =
      std::min<int64_t>(8, std::max<int64_t>(1, shape[rank - 1] / columns));
  lanes /= how.lanes[rank - 1];
  how.lanes[rank - 2] =
      std::min<int64_t>(lanes, std::max<int64_t>(1, shape[rank - 2] / rows));
  how.lanes[rank - 1] *= lanes / how.lanes[rank - 2];
  how.warps[rank - 2] =
      std::min<int64_t>(warps, std::max<int64_t>(1, shape[rank - 2] / rows /
                                                        how.lanes[rank - 2]));
  how.warps[rank - 1] = warps / how.warps[rank - 2];
  LinearLayout acc = layout::blocked(shape, how);
  auto operand = [&](Value value, size_t reduced) {
    ArrayRef<int64_t> full = tile::shapeOf(value.getType());
    SmallVector<int64_t> without(full);
    without[reduced] = 1;
    return layout::broadcast(projected(acc, without), int(reduced),
                             full[reduced]);
  };
  DotLayouts layouts;
  layouts.acc = acc;
  int64_t k = tile::shapeOf(dot.getA().getType()).back();
  if (acc.inSize(layout::Dim::Register) * k <= mostProducts) {
    layouts.a = operand(dot.getA(), rank - 1);
    layouts.b = operand(dot.getB(), rank - 2);
  }
  return layouts;
}

} // namespace

llvm::MapVector<tile::DotOp, DotLayouts> dotLayouts(func::FuncOp function,
                                                    int numWarps) {
  llvm::DenseMap<Operation *, Votes> votes;
  function.walk([&](tile::DotOp dot) { vote(dot, votes); });
  llvm::MapVector<tile::DotOp, DotLayouts> layouts;
  function.walk([&](tile::DotOp dot) {
    std::optional<MmaShape> mma = mmaShapeOf(dot);
    layouts.insert({dot, mma ? onTensorCores(dot, *mma, votes[dot], numWarps)
                             : withMultiplyAdds(dot, numWarps)});
  });
  return layouts;
}

} // namespace tessera::codegen::gpu
