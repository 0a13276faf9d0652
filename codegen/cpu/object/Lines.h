// codegen/cpu/object/Lines.h - the line table of the kernel's source in an
// object file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/LineTable.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::cpu {

// Adds to the functions of a module in the LLVM dialect the debug information
// from which LLVM emits a line table. The code stays the same.
void keepLines(mlir::ModuleOp module);

// Returns the line table of the function `entry` in an object file with lines.
LineTable linesOf(const std::string &object, const std::string &entry);

} // namespace tessera::codegen::cpu
