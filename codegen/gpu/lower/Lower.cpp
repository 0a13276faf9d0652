// codegen/gpu/lower/Lower.cpp - lowers tile IR with layouts to LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Lower.h"

#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/memory/Scratch.h"
#include "codegen/math/Math.h"
#include "support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace tessera::codegen::gpu {

// Replaces functions without a GPU instruction by the arithmetic that the CPU
// back end uses: sin, cos, tanh, erf, remainder of f32 and narrower; exp, exp2,
// log, log2, sin, cos, rsqrt of f64. lower/Math.cpp emits the others.
static void rewriteFunctions(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || !canRewriteFunction(op))
      return;
    bool approximated = isa<math::ExpOp, math::Exp2Op, math::LogOp,
                            math::Log2Op, math::RsqrtOp>(op);
    if (!approximated || getElementTypeOrSelf(op->getResult(0)).isF64())
      found.push_back(op);
  });
  if (!found.empty())
    module.getContext()->loadDialect<arith::ArithDialect, math::MathDialect>();
  for (Operation *op : found)
    rewriteFunction(op);
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
  rewriteFunctions(module);
  gpu::checkSharedMemory(module, options);
  auto result = std::make_unique<llvm::Module>(functions[0].getName(), context);
  gpu::Emitter(functions[0], *result, options).run();
  return result;
}

} // namespace tessera::codegen::gpu
