// compiler/DescribeTiles.h - the layouts of the tiles of each line, as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::compiler {

// Returns the stage "tiles" of a module in which every tensor has a layout: a
// list with an entry for every distinct tile of an operation, in code order:
//   op      "tile.dot"
//   places  [["k.py", 31], ...]: the line, then the lines it was called from;
//           files by the last part of their path
//   shape   [64, 32]
//   element "f16", bits of it
//   layout  "linear(register=[(0,1)], ...)" as dialect/layout/Parse.h reads it
// For an operation without results, the list has the tiles of its operands.
std::string describeTiles(mlir::ModuleOp module);

} // namespace tessera::compiler
