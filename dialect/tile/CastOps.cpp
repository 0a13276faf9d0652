// dialect/tile/CastOps.cpp - verifiers and folds of the cast family.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tessera::tile;

// Returns the bits of an element; a pointer has 64.
static unsigned bitWidth(Type type) {
  return isa<PtrType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

LogicalResult BitcastOp::verify() {
  Type from = elementType(getSrc().getType()), to = elementType(getType());
  if (shapeOf(getSrc().getType()) != shapeOf(getType()))
    return emitOpError("keeps the shape");
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  if ((isa<PtrType>(from) && isFloat(to)) ||
      (isa<PtrType>(to) && isFloat(from)))
    return emitOpError("cannot mix pointers and floats");
  if (bitWidth(from) != bitWidth(to))
    return emitOpError("needs equal widths, got ") << from << " and " << to;
  return verifyTileShape(*this, getType());
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto inner = getSrc().getDefiningOp<BitcastOp>()) {
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  return {};
}

LogicalResult ConvertOp::verify() {
  if (shapeOf(getSrc().getType()) != shapeOf(getType()))
    return emitOpError("keeps the shape");
  return verifyTileShape(*this, getType());
}

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  auto round = [&](APFloat value) {
    bool lossy = false;
    value.convert(cast<FloatType>(elementType(getType())).getFloatSemantics(),
                  getRounding() == Rounding::RTZ ? APFloat::rmTowardZero
                                                 : APFloat::rmNearestTiesToEven,
                  &lossy);
    return value;
  };
  if (auto scalar = dyn_cast_or_null<FloatAttr>(adaptor.getSrc()))
    return FloatAttr::get(getType(), round(scalar.getValue()));
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSrc()))
    return DenseElementsAttr::get(cast<ShapedType>(getType()),
                                  round(splat.getSplatValue<APFloat>()));
  return {};
}
