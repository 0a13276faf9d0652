// codegen/gpu/memory/Scratch.h - shared memory of operations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Barriers: an operation that uses scratch waits for all threads before it
// first writes there, where a `tile.barrier scratch` stands before it
// (ScratchBarriers.h), and between writing and reading, which is its own
// affair; it need not wait after its last read.
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Bytes of scratch that the lowering of `op` uses; 0 for most. Each family
/// has its own function, which its lowering uses too.
int64_t scratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t convertScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t reduceScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t scanScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t atomicScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t dotScratchBytes(mlir::Operation *op, const GpuOptions &options);

/// Gives every operation that needs scratch its place (kScratchOffsetAttr),
/// puts barriers before those that must wait, and sets kSharedBytesAttr. Throws
/// tessera::Error when the target has less; the attributes are set then, too.
void allocateScratch(mlir::ModuleOp module, const GpuOptions &options);

} // namespace tessera::codegen::gpu
