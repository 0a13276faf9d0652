// codegen/SourceLines.h - places in the kernel's text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <string>

namespace tessera::codegen {

/// The place in the innermost function: of a call site, the callee's. Null for
/// a location without one.
inline mlir::FileLineColLoc placeOf(mlir::Location location) {
  mlir::FileLineColLoc found;
  location->walk([&](mlir::Location each) {
    found = mlir::dyn_cast<mlir::FileLineColLoc>(each);
    return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

/// "file:line:col" of that place, for messages.
inline std::string whereOf(mlir::Location location) {
  mlir::FileLineColLoc place = placeOf(location);
  if (!place)
    return "kernel";
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) +
         ":" + std::to_string(place.getColumn());
}

} // namespace tessera::codegen
