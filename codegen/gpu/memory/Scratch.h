// codegen/gpu/memory/Scratch.h - sizes and offsets of scratch memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Scratch is shared memory that the lowering of one operation uses, for example
// to exchange elements between warps. tessera-memory-barriers inserts a
// `tile.barrier scratch` before an operation whose first write could overwrite
// memory that other threads still read. The lowering emits the barriers between
// its writes and its reads. It emits none after its last read.
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Operation attribute (i64): bytes of the operation's scratch, which starts at
/// tile::kScratchOffsetAttr.
inline constexpr llvm::StringLiteral kScratchBytesAttr = "tile.scratch_bytes";

/// Operation attribute (unit): each warp reads only the scratch that it wrote.
/// The lowering then contains no barrier of the block.
inline constexpr llvm::StringLiteral kScratchOfWarpAttr =
    "tile.scratch_of_warp";

/// Returns the bytes of scratch that the lowering of `op` uses; 0 for most. The
/// lowering of each family of operations calls its function below, too.
int64_t scratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t convertScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t reduceScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t scanScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t atomicScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t dotScratchBytes(mlir::Operation *op, const GpuOptions &options);

/// Returns true for an operation that gets kScratchOfWarpAttr.
bool hasScratchOfWarp(mlir::Operation *op, const GpuOptions &options);

/// A range of shared memory in bytes: the first and the one past the last.
using SharedPart = std::pair<int64_t, int64_t>;

/// Returns the range that tessera-allocate-shared gave a buffer or the scratch
/// of an operation; nullopt if it gave no range.
std::optional<SharedPart> sharedPartOf(mlir::Operation *op);

/// Throws tessera::Error if a buffer or scratch has no range, or if
/// kSharedBytesAttr exceeds the shared memory of a block of the target.
void checkSharedMemory(mlir::ModuleOp module, const GpuOptions &options);

} // namespace tessera::codegen::gpu
