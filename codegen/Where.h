// codegen/Where.h - places in the kernel's text, for messages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <string>

namespace tessera::codegen {

/// "file:line:col" of the innermost place that `location` knows.
inline std::string whereOf(mlir::Location location) {
  std::string text = "kernel";
  location->walk([&](mlir::Location each) {
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(each);
    if (!place)
      return mlir::WalkResult::advance();
    text = place.getFilename().str() + ":" + std::to_string(place.getLine()) +
           ":" + std::to_string(place.getColumn());
    return mlir::WalkResult::interrupt();
  });
  return text;
}

} // namespace tessera::codegen
