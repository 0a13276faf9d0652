// codegen/gpu/kernel/TileSizes.h - registers of tiles.
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

/// Bytes of a tensor in shared memory.
int64_t tileBytes(mlir::Type tensor);

/// Registers of 32 bits that a thread needs for a value of the type: 1 of what
/// has no layout, none of a token.
int64_t tileRegisters(mlir::Type type);

/// The most for one tile. Eight times
/// what a thread has: with so much on the stack the code is correct and slow;
/// beyond, ptxas takes minutes and in the end gives up.
inline constexpr int64_t kMostTileRegisters = 2048;

/// Multiply-adds of a dot that a thread executes without a loop, on operands in
/// its registers.
inline constexpr int64_t kMostUnrolledProducts = 1024;

/// Throws Error, naming the place in the kernel, for the first operation with a
/// larger tile; its tensors have layouts.
void checkTileSizes(mlir::ModuleOp module, const GpuOptions &options);

} // namespace tessera::codegen::gpu
