// compiler/CompileParts.h - what compiling for every kind of target needs.
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

// The tile module of one kernel, with a share of the context that its types,
// attributes and operations belong to. A thread makes many modules in one
// context and begins a new one now and then; the old one goes with its last
// module.
class KernelModule {
public:
  // Throws what semantics::buildTileModule throws.
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

// Times of phases; the total when it goes.
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

// The message as a diagnostic in one of the files; the kernel's own is first.
Diagnostic diagnosticOf(const SourceFiles &files,
                        const PipelineMessage &message,
                        const std::string &hint);

// Of "file:line:col: error: text", as lowerings write where they know the
// place.
PipelineMessage placedMessage(const std::string &text);

// Whether the request asks for the stage's text.
bool wantsStage(const language::CompileRequest &request,
                std::string_view stage);

// The parameters of the entry: arguments that are no constexprs.
std::vector<language::ArtifactParameter>
parametersOf(const language::CompileRequest &request);

// Throws Error when the request asks for a stage or replaces one that is not
// among those. `what` is "a CPU kernel".
void checkStages(const language::CompileRequest &request,
                 const std::vector<std::string> &emitted,
                 const std::vector<std::string> &replaced,
                 const std::string &what);

} // namespace tessera::compiler
