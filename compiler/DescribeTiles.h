// compiler/DescribeTiles.h - which layout the tiles of each line have, as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::compiler {

// Stage "tiles", of a module in which every tensor has a layout: a list with
// one entry for every different tile of an operation, in the order of the code:
//   op      "tile.dot"
//   places  [["k.py", 31], ...]: the line, then the lines it was called from;
//           files by the last part of their path
//   shape   [64, 32]
//   element "f16", bits of it
//   layout  "linear(register=[(0,1)], ...)" as dialect/layout/Parse.h reads it
// Of an operation without results the tiles that it takes.
std::string describeTiles(mlir::ModuleOp module);

} // namespace tessera::compiler
