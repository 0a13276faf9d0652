// compiler/CompileParts.cpp - the steps of a compilation that all kinds of
// target share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/CompileParts.h"

#include "compiler/Passes.h"
#include "compiler/semantics/Semantics.h"
#include "support/Error.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <memory>
#include <regex>

namespace tessera::compiler {
namespace {

// An MLIR context never frees types, attributes and locations, but creating one
// takes a few milliseconds. So one context serves a limited number of kernels.
constexpr int kernelsPerContext = 64;

std::string listOf(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : name == names.back() ? " or " : ", ") + name;
  return text;
}

// Returns the context of this thread. A caller that creates IR in it keeps the
// pointer as long as the IR: the next call may create another context.
std::shared_ptr<mlir::MLIRContext> threadContext() {
  thread_local std::shared_ptr<mlir::MLIRContext> context;
  thread_local int uses = 0;
  if (!context || ++uses > kernelsPerContext) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context = std::make_shared<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    uses = 1;
  }
  return context;
}

} // namespace

KernelModule::KernelModule(const language::Program &program,
                           const language::CompileRequest &request,
                           std::vector<Diagnostic> *notes,
                           semantics::ValueLog *values)
    : context(threadContext()),
      module(semantics::buildTileModule(*context, program, request, notes,
                                        values)) {}

KernelModule::~KernelModule() = default;

std::string printModule(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

Diagnostic diagnosticOf(const SourceFiles &files,
                        const PipelineMessage &message,
                        const std::string &hint) {
  std::shared_ptr<const SourceFile> file = files.front();
  for (const auto &candidate : files)
    if (candidate->path() == message.file)
      file = candidate;
  SourceRange range;
  if (message.line)
    range = {message.line, message.column, message.line, message.column + 1};
  return Diagnostic::make(DiagnosticId::CodegenFailed, file, range,
                          message.text, hint);
}

PipelineMessage placedMessage(const std::string &text) {
  static const std::regex pattern(
      R"(^([^\n]*?):(\d{1,9}):(\d{1,9}): error: ([^]*)$)");
  std::smatch match;
  if (!std::regex_match(text, match, pattern))
    return {"", 0, 0, text};
  return {match[1], uint32_t(std::stoul(match[2])),
          uint32_t(std::stoul(match[3])), match[4]};
}

bool wantsStage(const language::CompileRequest &request,
                std::string_view stage) {
  return std::find(request.emit.begin(), request.emit.end(), stage) !=
         request.emit.end();
}

std::vector<language::ArtifactParameter>
parametersOf(const language::CompileRequest &request) {
  std::vector<language::ArtifactParameter> result;
  for (const language::Argument &argument : request.args)
    if (!argument.isConstexpr())
      result.push_back(
          {argument.name,
           argument.kind == language::ArgKind::Pointer ? "pointer" : "scalar",
           argument.type});
  return result;
}

void checkStages(const language::CompileRequest &request,
                 const std::vector<std::string> &emitted,
                 const std::vector<std::string> &replaced,
                 const std::string &what) {
  for (const std::string &stage : request.emit)
    if (std::find(emitted.begin(), emitted.end(), stage) == emitted.end())
      throw Error(what + " has no stage `" + stage + "`",
                  "ask for " + listOf(emitted));
  for (const language::StageOverride &edited : request.overrides)
    if (std::find(replaced.begin(), replaced.end(), edited.stage) ==
        replaced.end())
      throw Error("the stage `" + edited.stage + "` of " + edited.path +
                      " cannot be replaced",
                  listOf(replaced) + " can");
}

} // namespace tessera::compiler
