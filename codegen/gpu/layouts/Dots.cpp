// codegen/gpu/layouts/Dots.cpp - layouts for matrix products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Dots.h"

#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/DotRoles.h"
#include "codegen/gpu/layouts/Transfer.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/tile/DotInstruction.h"

#include <numeric>

using namespace mlir;
using tessera::layout::LinearLayout;
using tessera::layout::MmaShape;

namespace tessera::codegen::gpu {

namespace {

// Returns the number of warps along each axis of the instruction's result.
std::vector<int64_t> warpsOf(ArrayRef<int64_t> shape, const MmaShape &mma,
                             const DotRoles &roles, int numWarps) {
  size_t rank = shape.size();
  int64_t m = std::max<int64_t>(1, shape[rank - 2] / mma.m);
  int64_t n = std::max<int64_t>(1, shape[rank - 1] / mma.n);
  int64_t rows = 1;
  if (roles.rows && roles.rows >= roles.columns) {
    rows = std::min<int64_t>(numWarps, m);
  } else if (roles.columns) {
    // Columns that are rows of another dot's instruction come 16 per warp.
    if (roles.chained && mma.m == 16)
      n = std::max<int64_t>(1, shape[rank - 1] / mma.m);
    rows = numWarps / std::min<int64_t>(numWarps, n);
    if (roles.chained)
      rows = std::min(rows, m);
  } else {
    // Minimizes the rows of A and columns of B that a warp reads.
    auto cost = [&](int64_t r) {
      int64_t c = numWarps / r;
      return std::max<int64_t>(1, m / r) * mma.m +
             std::max<int64_t>(1, n / c) * mma.n +
             // A penalty for warps that hold only replicas.
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

// The last two axes exchanged.
template <typename List>
List turned(List list) {
  std::swap(list[list.size() - 2], list[list.size() - 1]);
  return list;
}

LinearLayout turnedLayout(const LinearLayout &layout) {
  std::vector<int> order(layout.outs().size());
  std::iota(order.begin(), order.end(), 0);
  return layout::transpose(layout, turned(order));
}

// Rows g and g + 8 of every 16 become 2 g and 2 g + 1. `axis` is that of rows.
LinearLayout withPairedRows(const LinearLayout &layout, int axis) {
  layout::Dim dim = layout::tileDim(axis);
  int start = layout.outStart(dim);
  std::vector<layout::Word> columns;
  for (layout::Word column : layout.columns()) {
    layout::Word row = column >> start & 15;
    layout::Word moved = (row << 1 & 15) | row >> 3;
    columns.push_back((column & ~(layout::Word(15) << start)) | moved << start);
  }
  return {layout.ins(), layout.outs(), columns};
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

// The layouts of an instruction's operands and result; shapes are its own.
DotLayouts instructionLayouts(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                              ArrayRef<int64_t> acc, const MmaShape &mma,
                              const DotRoles &roles,
                              const layout::MmaTile &tile) {
  int64_t kWidth = mma.packed;
  // Pairs of neighbours along K, as an accumulator has them: any order of K
  // will do that both operands share.
  if (roles.chained && kWidth == 1 && mma.m == 16 && a.back() >= 16)
    kWidth = 2;
  DotLayouts layouts;
  layouts.a = layout::mmaOperandA(a.vec(), tile, kWidth);
  layouts.b = layout::mmaOperandB(b.vec(), tile, kWidth);
  layouts.acc = layout::mmaAccumulator(acc.vec(), tile);
  int rank = int(tile.warps.size());
  int64_t columnWarps = tile.warps.back();
  if (roles.pairedColumns && columnWarps > 1 &&
      acc.back() >= 16 * columnWarps) {
    int bits = int(llvm::Log2_64(uint64_t(columnWarps)));
    layouts.b = withPairedColumns(*layouts.b, rank - 1, bits);
    layouts.acc = withPairedColumns(layouts.acc, rank - 1, bits);
  }
  if (roles.pairedRows && mma.m == 16 && acc[acc.size() - 2] >= 16) {
    layouts.a = withPairedRows(*layouts.a, rank - 2);
    layouts.acc = withPairedRows(layouts.acc, rank - 2);
  }
  return layouts;
}

DotLayouts onTensorCores(tile::DotOp dot, const MmaShape &mma,
                         const DotRoles &roles, int numWarps) {
  auto shape = [](Value value) {
    return llvm::to_vector(tile::shapeOf(value.getType()));
  };
  SmallVector<int64_t> a = shape(dot.getA()), b = shape(dot.getB()),
                       acc = shape(dot.getResult());
  if (!roles.swapped)
    return instructionLayouts(a, b, acc, mma, roles,
                              {warpsOf(acc, mma, roles, numWarps), mma.m});
  layout::MmaTile tile{warpsOf(turned(acc), mma, roles, numWarps), mma.m};
  DotLayouts layouts =
      instructionLayouts(turned(b), turned(a), turned(acc), mma, roles, tile);
  std::swap(layouts.a, layouts.b);
  layouts.a = turnedLayout(*layouts.a);
  layouts.b = turnedLayout(*layouts.b);
  layouts.acc = turnedLayout(layouts.acc);
  return layouts;
}

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
  if (acc.inSize(layout::Dim::Register) * k <= kMostUnrolledProducts) {
    layouts.a = operand(dot.getA(), rank - 1);
    layouts.b = operand(dot.getB(), rank - 2);
  }
  return layouts;
}

} // namespace

llvm::MapVector<tile::DotOp, DotLayouts> dotLayouts(func::FuncOp function,
                                                    int numWarps) {
  llvm::MapVector<tile::DotOp, DotLayouts> layouts;
  for (auto &[dot, roles] : dotRoles(function, numWarps)) {
    std::optional<MmaShape> mma = tile::mmaShapeOf(dot);
    layouts.insert({dot, mma ? onTensorCores(dot, *mma, roles, numWarps)
                             : withMultiplyAdds(dot, numWarps)});
  }
  return layouts;
}

} // namespace tessera::codegen::gpu
