// dialect/tile/LayoutOps.cpp - verifier and fold of layout conversions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

LogicalResult ConvertLayoutOp::verify() {
  auto from = cast<RankedTensorType>(getSrc().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return emitOpError("changes the layout only; got ")
           << from << " and " << to;
  auto source = dyn_cast_or_null<LinearAttr>(from.getEncoding());
  auto result = dyn_cast_or_null<LinearAttr>(to.getEncoding());
  if (!source || !result)
    return emitOpError("needs tensors with layouts");
  if (source.getWarps().size() != result.getWarps().size())
    return emitOpError("keeps the number of warps");
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto inner = getSrc().getDefiningOp<ConvertLayoutOp>()) {
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSrc()))
    return DenseElementsAttr::get(cast<ShapedType>(getType()),
                                  splat.getSplatValue<Attribute>());
  return {};
}
