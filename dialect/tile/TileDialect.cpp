// dialect/tile/TileDialect.cpp - registration and type helpers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cassert>

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

#include "dialect/tile/TileEnums.cpp.inc"

#include "dialect/tile/TileDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/tile/TileAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/tile/TileTypes.cpp.inc"

namespace {
// Prints layouts as aliases #linear, #linear1, ... above the module, because
// their text is long.
struct TileAliases : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LinearAttr, SharedAttr>(attr))
      return AliasResult::NoAlias;
    os << (isa<SharedAttr>(attr) ? "shared" : "linear");
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  addInterfaces<TileAliases>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/tile/TileOps.cpp.inc"
      >();
}

// Folds return numbers and splats of numbers, which become arith.constant.
Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult PtrType::verify(function_ref<InFlightDiagnostic()> emitError,
                              Type pointee) {
  if (pointee.isIntOrFloat() || isa<PtrType>(pointee))
    return success();
  return emitError() << "a pointer needs a number as its element, got "
                     << pointee;
}

Type tile::elementType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getElementType();
  return type;
}

int64_t tile::bytesInMemory(Type element) {
  if (isa<PtrType>(element))
    return 8;
  assert(element.isIntOrFloat() && "memory holds numbers and pointers");
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

LinearAttr tile::layoutOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LinearAttr>(tensor.getEncoding())
                : LinearAttr();
}

ArrayRef<int64_t> tile::shapeOf(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getShape();
  return {};
}

Type tile::withElementType(Type like, Type element) {
  if (auto tensor = dyn_cast<RankedTensorType>(like))
    return RankedTensorType::get(tensor.getShape(), element,
                                 tensor.getEncoding());
  return element;
}

Type tile::pointeeValueType(Type pointer) {
  return withElementType(pointer,
                         cast<PtrType>(elementType(pointer)).getPointee());
}
