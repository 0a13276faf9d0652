// codegen/LlvmModule.cpp - what both back ends do with a module of LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/LlvmModule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>

namespace tessera::codegen {
namespace {

struct KeepFirst : llvm::DiagnosticHandler {
  explicit KeepFirst(FirstError &first) : first(first) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error || !first.text.empty())
      return true;
    if (auto *placed = llvm::dyn_cast<llvm::DiagnosticInfoSrcMgr>(&info)) {
      const llvm::SMDiagnostic &error = placed->getSMDiag();
      first.text = error.getMessage().str();
      first.line = error.getLineNo();
      first.column = error.getColumnNo();
      return true;
    }
    llvm::raw_string_ostream stream(first.text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  FirstError &first;
};

} // namespace

FirstError::FirstError(llvm::LLVMContext &context)
    : context(context), before(context.getDiagnosticHandler()) {
  context.setDiagnosticHandler(std::make_unique<KeepFirst>(*this));
}

FirstError::~FirstError() { context.setDiagnosticHandler(std::move(before)); }

void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    const llvm::PipelineTuningOptions &tuning,
                    llvm::ArrayRef<llvm::StringRef> skipped,
                    const llvm::TargetLibraryInfoImpl *library) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [&](llvm::StringRef pass, llvm::Any) {
        return !llvm::is_contained(skipped, pass);
      });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  if (library)
    functions.registerPass(
        [&] { return llvm::TargetLibraryAnalysis(*library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

std::string verifierMessage(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  return llvm::verifyModule(module, &stream) ? text.substr(0, text.find('\n'))
                                             : std::string();
}

void refuseStage(const std::string &stage,
                 const std::shared_ptr<const SourceFile> &file, int line,
                 int column, const std::string &what) {
  SourceRange range;
  if (line > 0) {
    range.line = range.endLine = uint32_t(line);
    range.column = uint32_t(std::max(column, 0)) + 1;
    range.endColumn = range.column + 1;
  }
  throw CompileError({Diagnostic::make(
      DiagnosticId::BadOverride, file, range, what,
      "this file replaces the stage `" + stage +
          "` (TESSERA_OVERRIDE); correct it, or remove it to compile the "
          "kernel")});
}

std::unique_ptr<llvm::Module>
parseLlvmStage(llvm::LLVMContext &context,
               const std::shared_ptr<const SourceFile> &file) {
  llvm::SMDiagnostic error;
  auto module =
      llvm::parseAssemblyString(file->text(), error, context, nullptr);
  if (!module)
    refuseStage("llvm", file, error.getLineNo(), error.getColumnNo(),
                error.getMessage().str());
  if (const std::string broken = verifierMessage(*module); !broken.empty())
    refuseStage("llvm", file, 0, 0, broken);
  return module;
}

} // namespace tessera::codegen
