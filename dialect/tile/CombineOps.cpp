// dialect/tile/CombineOps.cpp - verifiers of combinations and sorts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

// Verifies the sources, the axis and the region, whose arguments are scalars
// (before..., next...) and which yields one scalar per source.
static LogicalResult verifyCombine(Operation *op, ValueRange sources,
                                   int64_t axis, Region &combine) {
  if (sources.empty())
    return op->emitOpError("needs a source");
  auto first = cast<RankedTensorType>(sources[0].getType());
  if (failed(verifyAxis(op, axis, first.getRank())))
    return failure();
  SmallVector<Type> elements;
  for (Value source : sources) {
    auto type = cast<RankedTensorType>(source.getType());
    if (type.getShape() != first.getShape())
      return op->emitOpError("needs sources of one shape");
    if (failed(verifyTileShape(op, type)))
      return failure();
    elements.push_back(type.getElementType());
  }
  Block &block = combine.front();
  SmallVector<Type> expected(elements);
  expected.append(elements);
  if (TypeRange(block.getArgumentTypes()) != TypeRange(expected))
    return op->emitOpError("has a region with other arguments than two scalars "
                           "for each source");
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || TypeRange(yield.getOperandTypes()) != TypeRange(elements))
    return op->emitOpError("must yield one scalar for each source");
  if (op->getNumResults() != sources.size())
    return op->emitOpError("must have one result for each source");
  return success();
}

LogicalResult ReduceByOp::verify() {
  if (failed(verifyCombine(*this, getSrcs(), getAxis(), getCombine())))
    return failure();
  for (auto [source, result] : llvm::zip(getSrcs(), getResults())) {
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + getAxis());
    Type expected = shape.empty()
                        ? type.getElementType()
                        : RankedTensorType::get(shape, type.getElementType());
    if (shapeOf(result.getType()) != ArrayRef<int64_t>(shape) ||
        elementType(result.getType()) != type.getElementType())
      return emitOpError("along axis ")
             << getAxis() << " of " << type << " gives " << expected << ", not "
             << result.getType();
  }
  return verifyLayouts(*this);
}

LogicalResult ScanByOp::verify() {
  if (failed(verifyCombine(*this, getSrcs(), getAxis(), getCombine())))
    return failure();
  if (getSrcs().getTypes() != getResults().getTypes())
    return emitOpError("gives results of the types of its sources");
  return success();
}

LogicalResult SortOp::verify() {
  auto type = cast<RankedTensorType>(getSrc().getType());
  if (type.getRank() < 1)
    return emitOpError("needs a dimension to sort");
  if (getIsUnsigned() && !type.getElementType().isInteger())
    return emitOpError("compares integers only as unsigned");
  return verifyTileShape(*this, type);
}
