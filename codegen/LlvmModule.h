// codegen/LlvmModule.h - what both back ends do with a module of LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Passes/PassBuilder.h"

#include <memory>
#include <string>

namespace tessera::codegen {

// The first error that LLVM reports in a context. LLVM's handler would end the
// process.
class FirstError {
public:
  explicit FirstError(llvm::LLVMContext &context);
  ~FirstError();

  std::string text;
  int line = 0, column = 0; // in a text that LLVM parses; line 0: unknown

private:
  llvm::LLVMContext &context;
  std::unique_ptr<llvm::DiagnosticHandler> before;
};

// Runs LLVM's pipeline for -O3 without the optional passes `skipped`. `library`
// may be null: the target's.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    const llvm::PipelineTuningOptions &tuning,
                    llvm::ArrayRef<llvm::StringRef> skipped,
                    const llvm::TargetLibraryInfoImpl *library = nullptr);

// Returns the first line of the verifier's message; empty for a valid module.
std::string verifierMessage(const llvm::Module &module);

// Throws CompileError for the file that replaces the stage `stage`. Lines count
// from 1, columns from 0; line 0: no place.
[[noreturn]] void refuseStage(const std::string &stage,
                              const std::shared_ptr<const SourceFile> &file,
                              int line, int column, const std::string &what);

// Parses and verifies the file that replaces the stage `llvm`. Throws
// CompileError.
std::unique_ptr<llvm::Module>
parseLlvmStage(llvm::LLVMContext &context,
               const std::shared_ptr<const SourceFile> &file);

} // namespace tessera::codegen
