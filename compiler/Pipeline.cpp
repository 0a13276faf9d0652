// compiler/Pipeline.cpp - the pass list, from tile IR to the LLVM dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipeline.h"

#include "codegen/SourceLines.h"
#include "codegen/cpu/Lower.h"
#include "codegen/cpu/ToLlvm.h"
#include "support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tessera::compiler {
namespace {

const char *const loweringName = "tessera-lower-to-loops";

struct LowerToLoopsPass
    : public PassWrapper<LowerToLoopsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToLoopsPass)

  LowerToLoopsPass() = default;
  LowerToLoopsPass(const LowerToLoopsPass &other) : PassWrapper(other) {}

  Option<std::string> target{*this, "target",
                             llvm::cl::desc("cpu:<mcpu>:<features>"),
                             llvm::cl::init("cpu:x86-64-v3:0000")};

  StringRef getArgument() const final { return loweringName; }
  StringRef getDescription() const final {
    return "Lower tile IR to loops and vectors for a CPU";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() final {
    auto cpu = CpuTarget::parse(target);
    if (!cpu) {
      getOperation().emitError() << "not a CPU target: " << target;
      return signalPassFailure();
    }
    // MLIR is built without exceptions, so none may propagate through it.
    try {
      codegen::cpu::lowerToLoops(getOperation(),
                                 codegen::cpu::cpuOptionsFor(*cpu));
    } catch (const Error &error) {
      getOperation().emitError() << error.what();
      signalPassFailure();
    }
  }
};

} // namespace

PipelineMessage messageAt(Location location, std::string text) {
  PipelineMessage message;
  message.text = std::move(text);
  if (FileLineColLoc place = codegen::placeOf(location)) {
    message.file = place.getFilename().str();
    message.line = place.getLine();
    message.column = place.getColumn();
  }
  return message;
}

void addTilePasses(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createCSEPass());
}

// Runs passes; `messages` receives the diagnostics that MLIR reports.
static bool runQuietly(ModuleOp module, bool verifyEach,
                       const std::function<void(OpPassManager &)> &add,
                       std::vector<PipelineMessage> &messages) {
  PassManager passes(module.getContext());
  passes.enableVerifier(verifyEach);
  add(passes);
  const bool good = succeeded(passes.run(module)) &&
                    (verifyEach || succeeded(verify(module)));
  if (!good && messages.empty())
    messages.push_back({"", 0, 0, "a pass failed and did not say why"});
  return good;
}

std::vector<PipelineMessage>
runPasses(ModuleOp module, bool verifyEach,
          const std::function<void(OpPassManager &)> &add) {
  std::vector<PipelineMessage> messages;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          messages.push_back(
              messageAt(diagnostic.getLocation(), diagnostic.str()));
        return success();
      });
  if (runQuietly(module, verifyEach, add, messages))
    messages.clear();
  return messages;
}

std::vector<PipelineMessage> runCpuPipeline(ModuleOp module,
                                            const PipelineOptions &options) {
  MLIRContext *context = module.getContext();
  std::vector<PipelineMessage> messages;
  ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      messages.push_back(messageAt(diagnostic.getLocation(), diagnostic.str()));
    return success();
  });
  auto done = [&](std::string_view phase) {
    if (options.onPhase)
      options.onPhase(phase, module);
  };

  if (!runQuietly(module, options.verifyEach, addTilePasses, messages))
    return messages;
  done("tile");
  codegen::cpu::lowerToLoops(module,
                             codegen::cpu::cpuOptionsFor(options.target));
  if (failed(verify(module)))
    return messages;
  done("loops");
  if (!runQuietly(
          module, options.verifyEach,
          [&](OpPassManager &passes) {
            codegen::cpu::addLlvmPasses(passes, options.target);
          },
          messages))
    return messages;
  done("llvm-dialect");
  messages.clear();
  return messages;
}

std::string cpuPipelineText(const CpuTarget &target) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto print = [&](const char *phase, OpPassManager &passes) {
    stream << phase << ": ";
    passes.printAsTextualPipeline(stream);
    stream << "\n";
  };
  OpPassManager tile("builtin.module"), llvmPasses("builtin.module");
  addTilePasses(tile);
  codegen::cpu::addLlvmPasses(llvmPasses, target);
  print("tile", tile);
  stream << "loops: builtin.module(" << loweringName
         << "{target=" << target.name() << "})\n";
  print("llvm-dialect", llvmPasses);
  return text;
}

void registerLoweringPass() { PassRegistration<LowerToLoopsPass>(); }

} // namespace tessera::compiler
