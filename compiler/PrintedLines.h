// compiler/PrintedLines.h - maps lines of printed IR to lines of the kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace mlir {
class Location;
class ModuleOp;
} // namespace mlir

namespace tessera::compiler {

// Returns [["k.py", 31], ...]: the line, then the lines of its callers. A file
// is the last part of its path.
Json placesOf(mlir::Location location);

struct PlacedText {
  std::string text; // the result of printModule()
  // [[line of the text, from 1, placesOf()], ...] for every operation with a
  // known location, in the order of the text.
  Json lines;
};
PlacedText printWithPlaces(mlir::ModuleOp module);

} // namespace tessera::compiler
