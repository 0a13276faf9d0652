// codegen/gpu/kernel/Warps.h - the number of warps of a block.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Module attribute (i64): the warps of a block if they are fewer than
/// num_warps. tessera-trim-warps sets it.
inline constexpr llvm::StringLiteral kNumWarpsAttr = "tessera.num_warps";

/// Returns `options` with the number of warps of the module's layouts. A block
/// is launched with 32 threads per warp.
GpuOptions withWarpsOf(mlir::ModuleOp module, GpuOptions options);

} // namespace tessera::codegen::gpu
