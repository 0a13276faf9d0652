// codegen/gpu/lower/Lower.h - lowers tile IR to LLVM IR for an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Returns the LLVM IR of the only kernel of `module`, on which the passes of
/// addMemoryPasses() have run. The kernel keeps its name and takes its
/// parameters in order: pointers to global memory, numbers in their type, i1 as
/// i8. Throws tessera::Error with a source location for unsupported operations.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp module,
                                          llvm::LLVMContext &context,
                                          const GpuOptions &options);

} // namespace tessera::codegen::gpu
