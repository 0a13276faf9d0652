// codegen/analysis/Stride.cpp - how a value changes along one dimension.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/Stride.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen {

std::optional<int64_t> constantOf(Value value) {
  // The limit suffices for splats of extended constants.
  for (int step = 0; step < 6; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.getSExtValue();
    if (isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp,
            tile::ReshapeOp, arith::ExtSIOp>(op))
      value = op->getOperand(0);
    else
      return std::nullopt;
  }
  return std::nullopt;
}

bool isUnitReshape(Operation *op) {
  if (!isa<tile::ReshapeOp>(op))
    return false;
  auto dims = [](Value v) {
    SmallVector<int64_t> sizes;
    for (int64_t size : tile::shapeOf(v.getType()))
      if (size != 1)
        sizes.push_back(size);
    return sizes;
  };
  return dims(op->getOperand(0)) == dims(op->getResult(0));
}

std::optional<int64_t> sourceDim(Operation *op, int64_t dim) {
  ArrayRef<int64_t> from = tile::shapeOf(op->getOperand(0).getType());
  ArrayRef<int64_t> to = tile::shapeOf(op->getResult(0).getType());
  if (auto trans = dyn_cast<tile::TransOp>(op))
    return trans.getOrder()[dim];
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    int64_t axis = expand.getAxis();
    if (dim == axis)
      return std::nullopt;
    return dim < axis ? dim : dim - 1;
  }
  if (isa<tile::BroadcastOp>(op)) {
    if (from[dim] == 1)
      return std::nullopt;
    return dim;
  }
  // A unit reshape keeps the order of the dimensions that are not 1.
  if (to[dim] == 1)
    return std::nullopt;
  int64_t nth = 0;
  for (int64_t d = 0; d < dim; ++d)
    nth += to[d] != 1;
  for (int64_t d = 0; d < int64_t(from.size()); ++d)
    if (from[d] != 1 && nth-- == 0)
      return d;
  return std::nullopt;
}

static std::optional<int64_t> strideOf(Value value, int64_t dim, int &visits) {
  if (--visits < 0)
    return std::nullopt;

  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  assert((!tensor || (dim >= 0 && dim < tensor.getRank())) &&
         "the tensor does not have this axis");
  if (!tensor || tensor.getDimSize(dim) == 1)
    return 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<tile::SplatOp>(op))
    return 0;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      if (dense.isSplat())
        return 0;
    return std::nullopt;
  }
  if (isa<tile::RangeOp>(op))
    return 1;
  if (isa<tile::TransOp, tile::ExpandDimsOp, tile::BroadcastOp>(op) ||
      isUnitReshape(op)) {
    std::optional<int64_t> source = sourceDim(op, dim);
    return source ? strideOf(op->getOperand(0), *source, visits) : 0;
  }
  if (isa<tile::AddPtrOp, arith::AddIOp>(op)) {
    auto a = strideOf(op->getOperand(0), dim, visits);
    auto b = strideOf(op->getOperand(1), dim, visits);
    if (a && b)
      return *a + *b;
    return std::nullopt;
  }
  if (isa<arith::SubIOp>(op)) {
    auto a = strideOf(op->getOperand(0), dim, visits);
    auto b = strideOf(op->getOperand(1), dim, visits);
    if (a && b)
      return *a - *b;
    return std::nullopt;
  }
  if (isa<arith::MulIOp>(op)) {
    auto a = strideOf(op->getOperand(0), dim, visits);
    auto b = strideOf(op->getOperand(1), dim, visits);
    if (!a || !b)
      return std::nullopt;
    if (*a == 0 && *b == 0)
      return 0;
    for (int side : {0, 1})
      if (auto factor = constantOf(op->getOperand(side)))
        return *factor * (side ? *a : *b);
    return std::nullopt;
  }
  if (isa<arith::ExtSIOp>(op))
    return strideOf(op->getOperand(0), dim, visits);
  bool elementwise =
      op->getNumResults() == 1 && (isa<arith::ArithDialect>(op->getDialect()) ||
                                   isa<tile::BitcastOp, tile::ConvertOp>(op));
  if (!elementwise)
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (strideOf(operand, dim, visits) != 0)
      return std::nullopt;
  return 0;
}

std::optional<int64_t> strideAlong(Value value, int64_t dim) {
  int visits = kMostVisits;
  return strideOf(value, dim, visits);
}

} // namespace tessera::codegen
