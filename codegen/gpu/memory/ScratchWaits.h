// codegen/gpu/memory/ScratchWaits.h - scratch without a barrier before it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Operation attribute (unit): no thread can still be at what was in the
/// operation's scratch before; it need not wait before it writes there. For
/// operations whose ScratchUse is MayOmitFirst
/// (codegen/analysis/MemoryModel.h).
inline constexpr llvm::StringLiteral kNoWaitAttr = "tile.no_wait";

/// Sets kNoWaitAttr. All scratch has its place; `bytesOf` says how much of it
/// an operation has.
void markScratchWaits(mlir::ModuleOp module,
                      llvm::function_ref<int64_t(mlir::Operation *)> bytesOf);

} // namespace tessera::codegen::gpu
