// codegen/gpu/lower/Lower.cpp - tile IR with layouts to LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Lower.h"

#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Functions.h"
#include "codegen/gpu/memory/Scratch.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace tessera::codegen::gpu {

std::unique_ptr<llvm::Module> lowerToLlvm(ModuleOp module,
                                          llvm::LLVMContext &context,
                                          const GpuOptions &given) {
  const GpuOptions options = withWarpsOf(module, given);
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1)
    throw Error("a GPU module needs exactly one kernel function",
                "inline what the kernel calls before lowering it");
  checkTileSizes(module, options);
  gpu::rewriteFunctions(module);
  gpu::checkSharedMemory(module, options);
  auto result = std::make_unique<llvm::Module>(functions[0].getName(), context);
  gpu::Emitter(functions[0], *result, options).run();
  return result;
}

} // namespace tessera::codegen::gpu
