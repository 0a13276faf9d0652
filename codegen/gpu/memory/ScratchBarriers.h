// codegen/gpu/memory/ScratchBarriers.h - barriers before scratch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Puts a `tile.barrier scratch` before every operation with scratch that some
/// thread may still be at: what the place held before must have been read. All
/// scratch has its place; `bytesOf` says how much of it an operation has.
void insertScratchBarriers(
    mlir::ModuleOp module,
    llvm::function_ref<int64_t(mlir::Operation *)> bytesOf);

} // namespace tessera::codegen::gpu
