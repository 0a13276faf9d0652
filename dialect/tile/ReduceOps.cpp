// dialect/tile/ReduceOps.cpp - verifiers of reductions, scans and gathers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

LogicalResult ReduceOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  if (failed(verifyAxis(*this, getAxis(), source.getRank())) ||
      failed(verifyTileShape(*this, source)))
    return failure();
  Type element = source.getElementType();
  bool isFloat = isa<FloatType>(element);
  switch (getKind()) {
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    element = IntegerType::get(getContext(), 32);
    break;
  case ReduceKind::And:
  case ReduceKind::Or:
  case ReduceKind::Xor:
  case ReduceKind::UMax:
  case ReduceKind::UMin:
    if (isFloat)
      return emitOpError("needs integers, got ") << source;
    break;
  default:
    break;
  }
  SmallVector<int64_t> shape(source.getShape());
  shape.erase(shape.begin() + getAxis());
  Type expected =
      shape.empty() ? element : Type(RankedTensorType::get(shape, element));
  if (ArrayRef<int64_t>(shape) != shapeOf(getType()) ||
      elementType(getType()) != element)
    return emitOpError("along axis ")
           << getAxis() << " of " << source << " gives " << expected << ", not "
           << getType();
  return verifyLayouts(*this);
}

LogicalResult ScanOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  if (failed(verifyAxis(*this, getAxis(), source.getRank())))
    return failure();
  return verifyTileShape(*this, source);
}

LogicalResult GatherOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  auto indices = cast<RankedTensorType>(getIndices().getType());
  if (failed(verifyAxis(*this, getAxis(), source.getRank())) ||
      failed(verifyTileShape(*this, source)) ||
      failed(verifyTileShape(*this, indices)))
    return failure();
  if (source.getRank() != indices.getRank())
    return emitOpError("needs indices of the source's rank");
  for (int64_t dim = 0; dim < source.getRank(); ++dim)
    if (dim != int64_t(getAxis()) &&
        source.getDimSize(dim) != indices.getDimSize(dim))
      return emitOpError("source and indices may only differ along axis ")
             << getAxis();
  if (getType() != withElementType(indices, source.getElementType()))
    return emitOpError("cannot give ") << getType();
  return verifyLayouts(*this);
}

LogicalResult HistogramOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  auto result = cast<RankedTensorType>(getType());
  if (source.getRank() != 1 || result.getRank() != 1)
    return emitOpError("needs tensors of rank 1");
  if (getMask() && shapeOf(getMask().getType()) != source.getShape())
    return emitOpError("has a mask of another shape");
  return failure(failed(verifyTileShape(*this, source)) ||
                 failed(verifyTileShape(*this, result)) ||
                 failed(verifyLayouts(*this)));
}
