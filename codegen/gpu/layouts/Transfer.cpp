// codegen/gpu/layouts/Transfer.cpp - layouts of operands and results of one op.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Transfer.h"

#include "dialect/layout/ShapeOps.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

bool isElementwise(Operation *op) {
  if (isa<tile::AddPtrOp, tile::BitcastOp, tile::ConvertOp>(op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp>(op);
}

LinearLayout projected(const LinearLayout &layout, ArrayRef<int64_t> shape) {
  layout::Extents outs = layout::tileExtents(shape.vec());
  std::vector<Word> columns;
  for (Word column : layout.columns()) {
    Word result = 0;
    int start = 0;
    for (const layout::Extent &out : outs) {
      if (out.bits == layout.outBits(out.dim))
        result |=
            (column >> layout.outStart(out.dim) & ((Word(1) << out.bits) - 1))
            << start;
      start += out.bits;
    }
    columns.push_back(result);
  }
  return layout::dropReplication(LinearLayout(layout.ins(), outs, columns));
}

LinearLayout spreadBroadcast(const LinearLayout &operand,
                             ArrayRef<int64_t> shape) {
  LinearLayout wide = operand;
  for (size_t axis = shape.size(); axis-- > 0;)
    if (shape[axis] != operand.outSize(layout::tileDim(int(axis))))
      wide = layout::broadcast(wide, int(axis), shape[axis]);
  // Register bits after those of the operand belong to the broadcast axes.
  std::vector<Word> lanes = wide.columns(Dim::Lane), columns;
  size_t own = size_t(operand.inBits(Dim::Register)), lane = 0;
  for (Word column : wide.columns(Dim::Register)) {
    bool grows = columns.size() >= own;
    while (grows && lane < lanes.size() && lanes[lane])
      ++lane;
    if (grows && lane < lanes.size())
      lanes[lane] = column;
    else
      columns.push_back(column);
  }
  int registers = int(columns.size());
  llvm::append_range(columns, lanes);
  llvm::append_range(columns, wide.columns(Dim::Warp));
  return LinearLayout({{Dim::Register, registers},
                       {Dim::Lane, wide.inBits(Dim::Lane)},
                       {Dim::Warp, wide.inBits(Dim::Warp)}},
                      wide.outs(), columns);
}

std::optional<LinearLayout> operandLayout(Operation *op, unsigned index,
                                          const LinearLayout &result) {
  if (isElementwise(op))
    return result;
  std::vector<int64_t> shape =
      tile::shapeOf(op->getOperand(index).getType()).vec();
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
    return layout::slice(result, int(expand.getAxis()));
  if (isa<tile::BroadcastOp>(op))
    return projected(result, shape);
  if (isa<tile::ReshapeOp>(op))
    return layout::reshape(result, shape);
  if (auto trans = dyn_cast<tile::TransOp>(op)) {
    std::vector<int> back(shape.size());
    for (auto [axis, from] : llvm::enumerate(trans.getOrder()))
      back[size_t(from)] = int(axis);
    return layout::transpose(result, back);
  }
  if (isa<tile::JoinOp>(op)) {
    auto half = layout::split(result);
    return half ? std::optional(half->half) : std::nullopt;
  }
  if (isa<tile::SplitOp>(op))
    return layout::join(result);
  return std::nullopt;
}

std::optional<LinearLayout> resultLayout(Operation *op,
                                         const LinearLayout &operand) {
  if (op->getNumResults() == 0 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  if (isElementwise(op) || isa<tile::ScanOp, tile::ScanByOp, tile::SortOp>(op))
    return operand;
  ArrayRef<int64_t> shape = tile::shapeOf(op->getResult(0).getType());
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
    return layout::expandDims(operand, int(expand.getAxis()));
  if (isa<tile::BroadcastOp>(op)) {
    LinearLayout result = operand;
    for (auto [axis, size] : llvm::enumerate(shape))
      if (size != result.outSize(layout::tileDim(int(axis))))
        result = layout::broadcast(result, int(axis), size);
    return result;
  }
  if (isa<tile::ReshapeOp>(op))
    return layout::reshape(operand, shape.vec());
  if (auto trans = dyn_cast<tile::TransOp>(op))
    return layout::transpose(
        operand, {trans.getOrder().begin(), trans.getOrder().end()});
  if (isa<tile::JoinOp>(op))
    return layout::join(operand);
  if (isa<tile::SplitOp>(op)) {
    auto half = layout::split(operand);
    return half ? std::optional(half->half) : std::nullopt;
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return layout::slice(operand, int(reduce.getAxis()));
  if (auto reduce = dyn_cast<tile::ReduceByOp>(op))
    return layout::slice(operand, int(reduce.getAxis()));
  return std::nullopt;
}

} // namespace tessera::codegen::gpu
