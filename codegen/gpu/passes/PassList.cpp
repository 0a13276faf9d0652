// codegen/gpu/passes/PassList.cpp - the order of the GPU passes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/passes/PassList.h"

#include "codegen/gpu/passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera::codegen::gpu {

// Returns the shared memory per block with which 16 warps fit on an SM, four
// per scheduler. Fewer warps do not hide latencies.
static int64_t sharedFor16Warps(const GpuOptions &options) {
  const int64_t blocks = std::max(1, 16 / options.numWarps);
  return options.target.sharedPerSm / blocks - options.target.sharedReserved;
}

void addLayoutPasses(OpPassManager &passes, const GpuOptions &options) {
  const int warps = options.numWarps;
  passes.addPass(gpu::createDotInstructionsPass());
  if (options.swapOperands)
    passes.addPass(gpu::createSwapOperandsPass({.numWarps = warps}));
  passes.addPass(gpu::createMaskLoadsPass());
  passes.addPass(gpu::createCoalescePass({.numWarps = warps}));
  passes.addPass(gpu::createDotLayoutsPass({.numWarps = warps}));
  passes.addPass(gpu::createAssignLayoutsPass({.numWarps = warps}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(gpu::createTrimWarpsPass({.numWarps = warps}));
  passes.addPass(gpu::createVectorWidthsPass());
  passes.addPass(
      gpu::createPipelineLoopsPass({.numStages = options.numStages,
                                    .sharedBytes = sharedFor16Warps(options),
                                    .constantInputs = options.constantInputs}));
  passes.addPass(gpu::createPromoteOperandsPass(
      {.sharedBytes = int64_t(options.target.sharedPerBlock)}));
  passes.addPass(gpu::createGuardMasksPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  addMemoryPasses(passes, options);
}

void addMemoryPasses(OpPassManager &passes, const GpuOptions &options) {
  passes.addPass(gpu::createAsyncWaitsPass());
  passes.addPass(gpu::createAllocateSharedPass(
      {.numWarps = options.numWarps, .target = options.target.name}));
  passes.addPass(gpu::createMemoryBarriersPass());
}

} // namespace tessera::codegen::gpu
