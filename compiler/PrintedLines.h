// compiler/PrintedLines.h - which lines of the kernel the lines of printed IR
// are for.
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

// [["k.py", 31], ...]: the line, then the lines that it was called from; files
// by the last part of their path.
Json placesOf(mlir::Location location);

struct PlacedText {
  std::string text; // what printModule() gives
  // [[line of the text, from 1, placesOf()], ...] for every operation that has
  // a place, in the order of the text.
  Json lines;
};
PlacedText printWithPlaces(mlir::ModuleOp module);

} // namespace tessera::compiler
