// compiler/Passes.h - the dialects and passes that kernels go through.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tessera::compiler {

// All dialects a kernel can be written in on its way, with their translations.
void registerDialects(mlir::DialectRegistry &registry);

// For tools: ours and those of MLIR that the pipeline uses.
void registerPasses();

} // namespace tessera::compiler
