// codegen/gpu/layouts/Passes.h - the passes that give tensors layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace tessera::codegen::gpu {

/// tessera-assign-layouts: every tensor gets the blocked layout of its shape,
/// with tile.convert_layout where an operation needs another one.
std::unique_ptr<mlir::Pass> createAssignLayoutsPass(int numWarps);

/// For tools.
void registerLayoutPasses();

} // namespace tessera::codegen::gpu
