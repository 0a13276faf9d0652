// codegen/gpu/kernel/TileSizes.h - sizes of tiles and their limits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"
#include "dialect/tile/TileDialect.h"

#include <cstdint>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

using tile::bytesInMemory;

/// Returns the bytes of a tensor in shared memory.
int64_t tileBytes(mlir::Type tensor);

/// Returns the 32-bit registers per thread for a value of the type: 1 if it has
/// no layout, 0 for a token.
int64_t tileRegisters(mlir::Type type);

/// Limit on the registers of one tile: about eight times those of a thread. Up
/// to it, the code is correct and slow, because it spills. Above it, ptxas runs
/// for minutes and then fails.
inline constexpr int64_t kMostTileRegisters = 2048;

/// Limit on the multiply-adds of a dot that a thread executes without a loop,
/// on operands in its registers.
inline constexpr int64_t kMostUnrolledProducts = 1024;

/// Throws Error for the first operation with a tile above kMostTileRegisters;
/// the message gives its source location. All tensors must have layouts.
void checkTileSizes(mlir::ModuleOp module, const GpuOptions &options);

} // namespace tessera::codegen::gpu
