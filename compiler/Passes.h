// compiler/Passes.h - registers the dialects and passes of the compiler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tessera::compiler {

// Registers all dialects of the pipelines and their translations to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

// Registers, for tools, this project's passes and the MLIR passes that the
// pipeline uses.
void registerPasses();

} // namespace tessera::compiler
