// codegen/gpu/Lower.h - tile IR to LLVM IR for an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace tessera::codegen {

/// Module attribute (i64): bytes of shared memory that a block needs.
inline constexpr llvm::StringLiteral kSharedBytesAttr = "tessera.shared_bytes";
/// Operation attribute (i64): where in shared memory its scratch starts.
inline constexpr llvm::StringLiteral kScratchOffsetAttr = "tile.scratch";
/// Attribute (i64) of loads, stores and atomics: so many elements that follow
/// one another in the lowest register bits of the layout also follow one
/// another in memory, are aligned to the whole run there and share one mask. A
/// power of two; 1 where it is missing.
inline constexpr llvm::StringLiteral kVectorAttr = "tile.vector";
/// Name of the symbol of a block's shared memory in PTX.
inline constexpr llvm::StringLiteral kSharedSymbol = "tessera_shared";

struct GpuOptions {
  GpuTarget target;
  int numWarps = 4;
  int numStages = 3;
  bool swapOperands = false; // tessera-swap-operands
};

/// From tile IR to tile IR in which every tensor has a layout.
void addLayoutPasses(mlir::OpPassManager &passes, const GpuOptions &options);

/// LLVM IR of the one kernel of `module`, whose tensors have layouts. Gives
/// operations that need it their scratch in shared memory first and sets
/// kSharedBytesAttr. The kernel has its tile name and takes its parameters in
/// order: pointers to global memory, numbers as they are, i1 as i8. Throws
/// tessera::Error, naming the place in the kernel, for what GPUs cannot do.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp module,
                                          llvm::LLVMContext &context,
                                          const GpuOptions &options);

} // namespace tessera::codegen
