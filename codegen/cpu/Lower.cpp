// codegen/cpu/Lower.cpp - lowers tile IR to the LLVM dialect for a CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Lower.h"

#include "codegen/SourceLines.h"
#include "codegen/cpu/CarriedOffsets.h"
#include "codegen/cpu/Emitter.h"
#include "codegen/cpu/ToLlvm.h"
#include "codegen/cpu/plan/Plan.h"
#include "support/Error.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera::codegen::cpu {

CpuOptions cpuOptionsFor(const CpuTarget &target) {
  return {target.vectorBits(), target};
}

// Keeps the first error that MLIR reports and prints nothing.
namespace {
class Reports {
public:
  explicit Reports(MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              text.empty())
            text = whereOf(diagnostic.getLocation()) +
                   ": error: " + diagnostic.str();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

static void run(PassManager &passes, ModuleOp module, const char *stage) {
  Reports reports(module.getContext());
  if (failed(passes.run(module)))
    throw Error(reports.text.empty()
                    ? std::string("the CPU lowering failed in ") + stage
                    : reports.text,
                "the operation named above is not available on cpu");
}

void lowerToLoops(ModuleOp module, const CpuOptions &options) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect,
                       math::MathDialect>();
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1 || !functions[0].getBody().hasOneBlock())
    throw Error("a CPU module needs exactly one kernel function of one block",
                "inline what the kernel calls before lowering it");
  func::FuncOp function = functions[0];
  // A CPU grid may have any number of programs.
  module->setAttr(kWideGridAttr, UnitAttr::get(context));
  {
    PassManager passes(context);
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    passes.addPass(createLoopInvariantCodeMotionPass());
    run(passes, module, "its preparation");
  }
  carryOffsets(function);
  {
    PassManager passes(context);
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    run(passes, module, "its preparation");
  }
  Plan plan(function, dotRows(options),
            options.vectorBits == 512 && options.target.has("avx512bf16"));
  Emitter(function, plan, options).run();
  function.erase();
  module->removeAttr(kWideGridAttr);
  module->setAttr(
      kScratchBytesAttr,
      IntegerAttr::get(IntegerType::get(context, 64), plan.scratchBytes()));
}

void lowerToCpu(ModuleOp module, const CpuOptions &options) {
  lowerToLoops(module, options);
  PassManager passes(module.getContext());
  addLlvmPasses(passes, options.target);
  run(passes, module, "the conversion to LLVM");
}

} // namespace tessera::codegen::cpu
