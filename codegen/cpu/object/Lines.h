// codegen/cpu/object/Lines.h - lines of the kernel's source, kept to the
// object.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/LineTable.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::cpu {

// Gives the functions of a module in the LLVM dialect what a line table is
// made from. The code stays the same.
void keepLines(mlir::ModuleOp module);

// The lines of the function `entry` in an object file that keeps them.
LineTable linesOf(const std::string &object, const std::string &entry);

} // namespace tessera::codegen::cpu
