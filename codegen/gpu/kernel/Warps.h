// codegen/gpu/kernel/Warps.h - how many warps a kernel has work for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Module attribute (i64): the warps of a block, where they are fewer than
/// num_warps. tessera-trim-warps sets it.
inline constexpr llvm::StringLiteral kNumWarpsAttr = "tessera.num_warps";

/// `options` with the warps that the module's layouts are made for. A block is
/// launched with 32 threads for each.
GpuOptions withWarpsOf(mlir::ModuleOp module, GpuOptions options);

} // namespace tessera::codegen::gpu
