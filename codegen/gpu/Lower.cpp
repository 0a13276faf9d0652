// codegen/gpu/Lower.cpp - tile IR with layouts to LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Lower.h"

#include "codegen/gpu/Functions.h"
#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/layouts/Passes.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/masks/Masks.h"
#include "codegen/gpu/memory/MemoryBarriers.h"
#include "codegen/gpu/memory/Scratch.h"
#include "codegen/gpu/pipeline/Pipeline.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace tessera::codegen {

// Shared memory of a block that leaves room for 16 warps on an SM, four for
// each scheduler: with fewer, latencies show.
static int64_t sharedFor16Warps(const GpuOptions &options) {
  const int64_t blocks = std::max(1, 16 / options.numWarps);
  return options.target.sharedPerSm / blocks - options.target.sharedReserved;
}

void addLayoutPasses(OpPassManager &passes, const GpuOptions &options) {
  passes.addPass(gpu::createDotInstructionsPass());
  if (options.swapOperands)
    passes.addPass(gpu::createSwapOperandsPass(options.numWarps));
  passes.addPass(gpu::createMaskLoadsPass());
  passes.addPass(gpu::createCoalescePass(options.numWarps));
  passes.addPass(gpu::createDotLayoutsPass(options.numWarps));
  passes.addPass(gpu::createAssignLayoutsPass(options.numWarps));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(gpu::createTrimWarpsPass(options.numWarps));
  passes.addPass(gpu::createVectorWidthsPass());
  passes.addPass(gpu::createPipelineLoopsPass(options.numStages,
                                              sharedFor16Warps(options)));
  passes.addPass(gpu::createPromoteOperandsPass(options.target.sharedPerBlock));
  passes.addPass(gpu::createGuardMasksPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(gpu::createMemoryBarriersPass());
}

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
  gpu::allocateScratch(module, options);
  auto result = std::make_unique<llvm::Module>(functions[0].getName(), context);
  gpu::Emitter(functions[0], *result, options).run();
  return result;
}

} // namespace tessera::codegen
