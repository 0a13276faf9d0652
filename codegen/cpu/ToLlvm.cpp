// codegen/cpu/ToLlvm.cpp - lowers the loops of a kernel to the LLVM dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/ToLlvm.h"

#include "codegen/math/Math.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace tessera::codegen::cpu {
namespace {

// True if an f32 operation computes in 16 bits: its operands are widened and
// its result is only narrowed. LLVM turns it into a 16-bit operation with the
// same flags if the CPU has one. Each such operation rounds separately
// (docs/numerics.md).
bool computesNarrow(Operation *op) {
  const auto widened = [](Value operand) {
    return matchPattern(operand, m_Constant()) ||
           operand.getDefiningOp<arith::ExtFOp>();
  };
  return llvm::all_of(op->getOperands(), widened) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<arith::TruncFOp>);
}

struct AllowContractionPass
    : public PassWrapper<AllowContractionPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AllowContractionPass)

  StringRef getArgument() const final { return "tessera-allow-contraction"; }
  StringRef getDescription() const final {
    return "Let products and sums of f32 be fused";
  }
  void runOnOperation() final {
    getOperation()->walk([](Operation *op) {
      if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) ||
          !getElementTypeOrSelf(op->getResult(0)).isF32() || computesNarrow(op))
        return;
      auto fast = cast<arith::ArithFastMathInterface>(op);
      auto flags = fast.getFastMathFlagsAttr().getValue() |
                   arith::FastMathFlags::contract;
      op->setAttr(fast.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op->getContext(), flags));
    });
  }
};

struct ExpandBf16Pass : public PassWrapper<ExpandBf16Pass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBf16Pass)

  StringRef getArgument() const final { return "tessera-expand-bf16"; }
  StringRef getDescription() const final {
    return "Round to bf16 with integer operations";
  }
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

struct ToLlvmPass : public PassWrapper<ToLlvmPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToLlvmPass)

  StringRef getArgument() const final { return "tessera-to-llvm"; }
  StringRef getDescription() const final {
    return "Convert control flow and arithmetic to the LLVM dialect";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                    LLVM::LLVMDialect>();
  }
  void runOnOperation() final {
    MLIRContext *context = &getContext();
    // MLIR's builders omit these flags, but MLIR's conversion reads them.
    getOperation()->walk([&](arith::ArithIntegerOverflowFlagsInterface op) {
      if (!op.getOverflowAttr())
        op->setAttr(op.getIntegerOverflowAttrName(),
                    arith::IntegerOverflowFlagsAttr::get(
                        context, arith::IntegerOverflowFlags::none));
    });
    LLVMTypeConverter converter(context);
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createAllowContractionPass() {
  return std::make_unique<AllowContractionPass>();
}

std::unique_ptr<Pass> createExpandBf16Pass() {
  return std::make_unique<ExpandBf16Pass>();
}

std::unique_ptr<Pass> createToLlvmPass() {
  return std::make_unique<ToLlvmPass>();
}

void addLlvmPasses(OpPassManager &passes, const CpuTarget &target) {
  passes.addPass(createAllowContractionPass());
  passes.addPass(createRewriteMathPass(target.vectorBits() == 512));
  // No supported CPU has bf16 arithmetic; avx512bf16 rounds to bf16.
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  SmallVector<std::string> emulated = {"bf16"};
  emulate.sourceTypeStrs = emulated;
  emulate.targetTypeStr = "f32";
  passes.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  if (!target.has("avx512bf16"))
    passes.addPass(createExpandBf16Pass());
  // LLVM does the other folding; most duplicates are constants.
  passes.addPass(createCSEPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createToLlvmPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createRejectNullBasesPass());
}

void registerCpuLlvmPasses() {
  registerPass([] { return createAllowContractionPass(); });
  registerPass([] { return createRewriteMathPass(); });
  registerPass([] { return createExpandBf16Pass(); });
  registerPass([] { return createToLlvmPass(); });
  registerPass([] { return createRejectNullBasesPass(); });
}

} // namespace tessera::codegen::cpu
