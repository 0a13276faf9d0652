// dialect/tile/ShapeOps.cpp - verifiers and folds of the shape family.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

// Returns the splat constant `attr` with the shape of `type`; null if `attr` is
// not a splat.
static Attribute resplat(Attribute attr, Type type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(attr);
  if (!splat)
    return {};
  return DenseElementsAttr::get(cast<ShapedType>(type),
                                splat.getSplatValue<Attribute>());
}

static LogicalResult verifySameElement(Operation *op, Type a, Type b) {
  if (elementType(a) == elementType(b))
    return success();
  return op->emitOpError("changes the element type from ")
         << elementType(a) << " to " << elementType(b);
}

static LogicalResult verifyResult(Operation *op, Type source, Type result) {
  return failure(failed(verifySameElement(op, source, result)) ||
                 failed(verifyTileShape(op, result)) ||
                 failed(verifyLayouts(op)));
}

LogicalResult RangeOp::verify() {
  int64_t size = int64_t(getEnd()) - int64_t(getStart());
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() != 1 || type.getDimSize(0) != size)
    return emitOpError("of ") << size << " integers has type " << type;
  return verifyTileShape(*this, type);
}

LogicalResult SplatOp::verify() {
  if (failed(verifySameElement(*this, getSrc().getType(), getType())))
    return failure();
  return verifyTileShape(*this, getType());
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  Attribute value = adaptor.getSrc();
  if (isa_and_nonnull<IntegerAttr, FloatAttr>(value))
    return DenseElementsAttr::get(cast<ShapedType>(getType()), value);
  return {};
}

LogicalResult ExpandDimsOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  if (failed(verifyAxis(*this, getAxis(), source.getRank() + 1)) ||
      failed(verifySameElement(*this, source, getType())))
    return failure();
  SmallVector<int64_t> shape(source.getShape());
  shape.insert(shape.begin() + getAxis(), 1);
  if (ArrayRef<int64_t>(shape) != shapeOf(getType()))
    return emitOpError("at axis ") << getAxis() << " cannot give " << getType();
  if (failed(verifyTileShape(*this, getType())))
    return failure();
  return verifyLayouts(*this);
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return resplat(adaptor.getSrc(), getType());
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getSrc().getType()), to = shapeOf(getType());
  if (from.size() != to.size())
    return emitOpError("keeps the rank; got ")
           << getSrc().getType() << " and " << getType();
  for (auto [a, b] : llvm::zip(from, to))
    if (a != b && a != 1)
      return emitOpError("only grows dimensions of size 1; got ")
             << getSrc().getType() << " and " << getType();
  return verifyResult(*this, getSrc().getType(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return resplat(adaptor.getSrc(), getType());
}

LogicalResult ReshapeOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  auto result = cast<RankedTensorType>(getType());
  if (source.getNumElements() != result.getNumElements())
    return emitOpError("cannot turn ") << source << " into " << result;
  return verifyResult(*this, source, result);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto inner = getSrc().getDefiningOp<ReshapeOp>()) {
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  return resplat(adaptor.getSrc(), getType());
}

LogicalResult TransOp::verify() {
  auto source = cast<RankedTensorType>(getSrc().getType());
  ArrayRef<int32_t> order = getOrder();
  SmallVector<bool> seen(source.getRank());
  if (int64_t(order.size()) != source.getRank())
    return emitOpError("order needs ") << source.getRank() << " entries";
  SmallVector<int64_t> shape;
  for (int32_t dim : order) {
    if (dim < 0 || dim >= source.getRank() || seen[dim])
      return emitOpError("order is not a permutation of the dimensions");
    seen[dim] = true;
    shape.push_back(source.getDimSize(dim));
  }
  if (ArrayRef<int64_t>(shape) != shapeOf(getType()))
    return emitOpError("of ") << source << " cannot give " << getType();
  return verifyResult(*this, source, getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int32_t> order = getOrder();
  bool identity = true;
  for (size_t i = 0; i < order.size(); ++i)
    identity &= order[i] == int32_t(i);
  if (identity)
    return getSrc();
  // trans(trans(x, p), q) is trans(x, p after q).
  if (auto inner = getSrc().getDefiningOp<TransOp>()) {
    SmallVector<int32_t> both;
    for (int32_t dim : order)
      both.push_back(inner.getOrder()[dim]);
    setOrder(both);
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  return resplat(adaptor.getSrc(), getType());
}

LogicalResult JoinOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getLhs().getType()));
  shape.push_back(2);
  if (ArrayRef<int64_t>(shape) != shapeOf(getType()))
    return emitOpError("of ")
           << getLhs().getType() << " cannot give " << getType();
  return verifyResult(*this, getLhs().getType(), getType());
}

LogicalResult SplitOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getSrc().getType());
  if (shape.empty() || shape.back() != 2)
    return emitOpError("needs a last dimension of size 2, got ")
           << getSrc().getType();
  if (shape.drop_back() != shapeOf(getLhs().getType()) || shape.size() == 1)
    return emitOpError("of ")
           << getSrc().getType() << " cannot give " << getLhs().getType();
  if (failed(verifySameElement(*this, getSrc().getType(), getLhs().getType())))
    return failure();
  return verifyLayouts(*this);
}
