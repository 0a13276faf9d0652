// codegen/ShownType.h - how device_print names the type of a value.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/tile/TileDialect.h"

#include <string>

namespace tessera::codegen {

// "fp32[16, 4]", as the author writes it.
inline std::string shownType(mlir::Type type, bool isUnsigned) {
  mlir::Type element = tile::elementType(type);
  std::string shown;
  if (mlir::isa<tile::PtrType>(element))
    shown = "pointer";
  else if (element.isBF16())
    shown = "bf16";
  else
    shown = (mlir::isa<mlir::FloatType>(element)   ? "fp"
             : isUnsigned && !element.isInteger(1) ? "uint"
                                                   : "int") +
            std::to_string(element.getIntOrFloatBitWidth());
  llvm::ArrayRef<int64_t> shape = tile::shapeOf(type);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    shown += (axis ? ", " : "[") + std::to_string(shape[axis]);
  return shape.empty() ? shown : shown + "]";
}

} // namespace tessera::codegen
