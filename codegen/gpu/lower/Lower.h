// codegen/gpu/lower/Lower.h - tile IR to LLVM IR for an NVIDIA GPU.
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

/// LLVM IR of the one kernel of `module`, which has been through
/// addMemoryPasses. The kernel has its tile name and takes its parameters in
/// order: pointers to global memory, numbers as they are, i1 as i8. Throws
/// tessera::Error, naming the place in the kernel, for what GPUs cannot do.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp module,
                                          llvm::LLVMContext &context,
                                          const GpuOptions &options);

} // namespace tessera::codegen::gpu
