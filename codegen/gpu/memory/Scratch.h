// codegen/gpu/memory/Scratch.h - shared memory of operations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Barriers: an operation that uses scratch waits for all threads before it
// first writes there, where a `tile.barrier scratch` stands before it
// (tessera-memory-barriers), and between writing and reading, which is its own
// affair; it need not wait after its last read.
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

/// Operation attribute (i64): bytes of its scratch, which start at
/// tile::kScratchOffsetAttr.
inline constexpr llvm::StringLiteral kScratchBytesAttr = "tile.scratch_bytes";

/// Bytes of scratch that the lowering of `op` uses; 0 for most. Each family
/// has its own function, which its lowering uses too.
int64_t scratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t convertScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t reduceScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t scanScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t atomicScratchBytes(mlir::Operation *op, const GpuOptions &options);
int64_t dotScratchBytes(mlir::Operation *op, const GpuOptions &options);

/// Of shared memory: the first byte and the end.
using SharedPart = std::pair<int64_t, int64_t>;

/// The place of a buffer or of an operation's scratch
/// (tessera-allocate-shared).
std::optional<SharedPart> sharedPartOf(mlir::Operation *op);

/// Throws tessera::Error where something has no place in shared memory, or the
/// target has less than kSharedBytesAttr says.
void checkSharedMemory(mlir::ModuleOp module, const GpuOptions &options);

} // namespace tessera::codegen::gpu
