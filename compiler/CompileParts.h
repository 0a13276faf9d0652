// compiler/CompileParts.h - helpers that the compilers of all targets share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "language/Program.h"
#include "language/Request.h"
#include "support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::semantics {
class ValueLog;
} // namespace tessera::semantics

namespace tessera::compiler {

// The tile module of one kernel. It shares ownership of the MLIR context that
// owns its types, attributes and operations. A thread creates many modules in
// one context and from time to time replaces the context; the old context is
// destroyed with its last module.
class KernelModule {
public:
  // Builds the module. Throws the exceptions of semantics::buildTileModule.
  KernelModule(const language::Program &program,
               const language::CompileRequest &request,
               std::vector<Diagnostic> *notes = nullptr,
               semantics::ValueLog *values = nullptr);
  ~KernelModule();
  KernelModule(const KernelModule &) = delete;
  KernelModule &operator=(const KernelModule &) = delete;

  mlir::ModuleOp operator*() const { return module.get(); }
  mlir::Operation *operator->() const { return module.get().getOperation(); }

private:
  std::shared_ptr<mlir::MLIRContext> context; // before what lives in it
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

// Records the times of phases in a result, and the total on destruction.
class PhaseTimer {
public:
  explicit PhaseTimer(language::CompileResult &result) : result(result) {}
  ~PhaseTimer() { result.timings["total"] = since(start); }

  void lap(const std::string &phase) {
    result.timings[phase] = since(last);
    last = Clock::now();
  }

private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  }

  language::CompileResult &result;
  Clock::time_point start = Clock::now(), last = start;
};

inline void enter(const PhaseListener &entering, std::string_view phase) {
  if (entering)
    entering(phase);
}

std::string printModule(mlir::ModuleOp module);

using SourceFiles = std::vector<std::shared_ptr<const SourceFile>>;

// Returns the message as a diagnostic in one of `files`; the kernel's file is
// the first of them.
Diagnostic diagnosticOf(const SourceFiles &files,
                        const PipelineMessage &message,
                        const std::string &hint);

// Parses "file:line:col: error: text", the form of lowering errors with a known
// location.
PipelineMessage placedMessage(const std::string &text);

// True if the request asks for the text of the stage.
bool wantsStage(const language::CompileRequest &request,
                std::string_view stage);

// Returns the parameters of the entry: the run-time arguments.
std::vector<language::ArtifactParameter>
parametersOf(const language::CompileRequest &request);

// Throws Error if the request emits a stage outside `emitted` or overrides one
// outside `replaced`. `what` is the subject of the message, "a CPU kernel".
void checkStages(const language::CompileRequest &request,
                 const std::vector<std::string> &emitted,
                 const std::vector<std::string> &replaced,
                 const std::string &what);

} // namespace tessera::compiler
