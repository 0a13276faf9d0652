// dialect/tile/MemoryOps.cpp - verifiers and folds of the memory family.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

static LogicalResult verifyAccess(Operation *op, Type pointer, Type value,
                                  Value mask) {
  if (value != pointeeValueType(pointer))
    return op->emitOpError("through ")
           << pointer << " needs a value of type " << pointeeValueType(pointer)
           << ", got " << value;
  if (mask && shapeOf(mask.getType()) != shapeOf(pointer))
    return op->emitOpError("has a mask of type ")
           << mask.getType() << " for " << pointer;
  return failure(failed(verifyTileShape(op, pointer)) ||
                 failed(verifyLayouts(op)));
}

LogicalResult AddPtrOp::verify() {
  if (shapeOf(getPtr().getType()) != shapeOf(getOffset().getType()))
    return emitOpError("needs an offset of the pointer's shape, got ")
           << getPtr().getType() << " and " << getOffset().getType();
  return verifyTileShape(*this, getType());
}

OpFoldResult AddPtrOp::fold(FoldAdaptor adaptor) {
  Attribute offset = adaptor.getOffset();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(offset))
    offset = splat.getSplatValue<Attribute>();
  auto integer = dyn_cast_or_null<IntegerAttr>(offset);
  return integer && integer.getValue().isZero() ? getPtr() : Value();
}

LogicalResult LoadOp::verify() {
  if (getOther() && !getMask())
    return emitOpError("has `other` but no mask");
  if (getOther() && getOther().getType() != getType())
    return emitOpError("has `other` of type ")
           << getOther().getType() << ", needs " << getType();
  return verifyAccess(*this, getPtr().getType(), getType(), getMask());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getPtr().getType(), getValue().getType(),
                      getMask());
}

LogicalResult AtomicRMWOp::verify() {
  bool isFloat = isa<FloatType>(elementType(getValue().getType()));
  switch (getKind()) {
  case AtomicKind::FAdd:
  case AtomicKind::FMax:
  case AtomicKind::FMin:
    if (!isFloat)
      return emitOpError("needs floats, got ") << getValue().getType();
    break;
  case AtomicKind::Xchg:
    break;
  default:
    if (isFloat)
      return emitOpError("needs integers, got ") << getValue().getType();
  }
  return verifyAccess(*this, getPtr().getType(), getValue().getType(),
                      getMask());
}

LogicalResult AtomicCASOp::verify() {
  return verifyAccess(*this, getPtr().getType(), getExpected().getType(),
                      Value());
}
