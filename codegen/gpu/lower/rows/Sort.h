// codegen/gpu/lower/rows/Sort.h - sorts, gathers, histograms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

class Emitter;

/// Return the bytes of scratch of `op`; 0 for other operations.
int64_t sortScratchBytes(mlir::Operation *op);
int64_t gatherScratchBytes(mlir::Operation *op);
/// Emits tile.sort; returns false for other operations.
bool emitSort(Emitter &e, mlir::Operation *op);
/// Emits tile.gather and tile.histogram; returns false for other operations.
bool emitGather(Emitter &e, mlir::Operation *op);

} // namespace tessera::codegen::gpu
