// compiler/Compile.cpp - a request to a shared object.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compile.h"

#include "codegen/cpu/Lower.h"
#include "codegen/cpu/Object.h"
#include "compiler/Override.h"
#include "compiler/Passes.h"
#include "compiler/Pipeline.h"
#include "compiler/cuda/CompileCuda.h"
#include "compiler/semantics/Semantics.h"
#include "compiler/syntax/CudaSource.h"
#include "compiler/syntax/Program.h"
#include "support/CpuTarget.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <regex>

using tessera::syntax::CompileRequest;
using tessera::syntax::CompileResult;

namespace tessera::compiler {
namespace {

// An MLIR context never frees types, attributes and locations. A new one costs
// a few milliseconds, so one serves many kernels, but not for ever.
constexpr int kernelsPerContext = 64;

mlir::MLIRContext &threadContext() {
  thread_local std::optional<mlir::MLIRContext> context;
  thread_local int uses = 0;
  if (!context || ++uses > kernelsPerContext) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.emplace(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    uses = 1;
  }
  return *context;
}

class Timer {
public:
  explicit Timer(CompileResult &result) : result(result) {}
  ~Timer() { result.timings["total"] = since(start); }

  void lap(const std::string &phase) {
    result.timings[phase] = since(last);
    last = Clock::now();
  }

private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  }

  CompileResult &result;
  Clock::time_point start = Clock::now(), last = start;
};

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

syntax::ArtifactMeta metaOf(const CompileRequest &request,
                            mlir::ModuleOp module) {
  syntax::ArtifactMeta meta;
  for (const syntax::Argument &argument : request.args)
    if (!argument.isConstexpr())
      meta.params.push_back(
          {argument.name,
           argument.kind == syntax::ArgKind::Pointer ? "pointer" : "scalar",
           argument.type});
  if (module->hasAttr(codegen::kReportsAttr))
    meta.params.push_back({"", "report", ""});
  if (auto bytes =
          module->getAttrOfType<mlir::IntegerAttr>(codegen::kScratchBytesAttr))
    meta.scratchBytes = uint64_t(bytes.getInt());
  return meta;
}

using Files = std::vector<std::shared_ptr<const SourceFile>>;

// The message as a diagnostic in one of the files; the kernel's own is first.
Diagnostic diagnosticOf(const Files &files, const PipelineMessage &message,
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

// The lowering writes "file:line:col: error: text" where it knows the place.
PipelineMessage placed(const std::string &text) {
  static const std::regex pattern(
      R"(^([^\n]*?):(\d{1,9}):(\d{1,9}): error: ([^]*)$)");
  std::smatch match;
  if (!std::regex_match(text, match, pattern))
    return {"", 0, 0, text};
  return {match[1], uint32_t(std::stoul(match[2])),
          uint32_t(std::stoul(match[3])), match[4]};
}

// Runs the pipeline; its errors are in the kernel's files.
std::vector<Diagnostic> lower(const Files &files, mlir::ModuleOp module,
                              const PipelineOptions &options) {
  std::vector<Diagnostic> diagnostics;
  try {
    for (const PipelineMessage &message : runCpuPipeline(module, options))
      diagnostics.push_back(diagnosticOf(
          files, message,
          "write it with other operations, or report it if it should work"));
  } catch (const CompileError &) {
    throw;
  } catch (const Error &error) {
    diagnostics.push_back(
        diagnosticOf(files, placed(error.message), error.hint));
  }
  return diagnostics;
}

void compileInto(const CompileRequest &request, CompileResult &result) {
  Timer timer(result);
  auto target = CpuTarget::parse(request.target);
  if (!target)
    throw Error("cannot compile for the target `" + request.target + "`",
                "targets look like cpu:x86-64-v3:0000; `tessera devices` "
                "lists those of this machine");
  auto wanted = [&](std::string_view stage) {
    return std::find(request.emit.begin(), request.emit.end(), stage) !=
           request.emit.end();
  };
  const std::vector<std::string> known = {"tile", "loops", "llvm", "asm"};
  for (const std::string &stage : request.emit)
    if (std::find(known.begin(), known.end(), stage) == known.end())
      throw Error("a CPU kernel has no stage `" + stage + "`",
                  "ask for tile, loops, llvm or asm");

  for (const syntax::StageOverride &edited : request.overrides)
    if (edited.stage != "tile" && edited.stage != "loops" &&
        edited.stage != "llvm")
      throw Error("the stage `" + edited.stage + "` of " + edited.path +
                      " cannot be replaced",
                  "tile, loops and llvm can");

  auto program = syntax::Program::load(request);
  Files files = program->files();
  timer.lap("parse");
  std::vector<Diagnostic> notes;
  auto module =
      semantics::buildTileModule(threadContext(), *program, request, &notes);
  timer.lap("semantics");
  result.addDiagnostics(notes);

  PipelineOptions options;
  options.target = *target;
  options.onPhase = [&](std::string_view phase, mlir::ModuleOp current) {
    timer.lap(std::string(phase));
    if (const auto *edited = findOverride(request, phase)) {
      files.push_back(replaceStage(current, *edited));
      result.meta.edited.push_back(edited->stage);
    }
    if (wanted(phase))
      result.stages[std::string(phase)] = print(current);
  };
  auto diagnostics = lower(files, *module, options);
  if (!diagnostics.empty())
    throw CompileError(std::move(diagnostics));
  auto edited = std::move(result.meta.edited);
  result.meta = metaOf(request, *module);

  codegen::ObjectOptions objectOptions;
  objectOptions.target = *target;
  objectOptions.keepLlvm = wanted("llvm");
  objectOptions.keepAsm = wanted("asm");
  if (const auto *text = findOverride(request, "llvm")) {
    objectOptions.llvmPath = text->path;
    objectOptions.llvmText = text->text;
    edited.push_back(text->stage);
  }
  result.meta.edited = std::move(edited);
  auto object = codegen::emitSharedObject(*module, objectOptions);
  auto seconds = [](int64_t microseconds) { return microseconds * 1e-6; };
  result.timings["translate"] = seconds(object.translate);
  result.timings["optimize"] = seconds(object.optimize);
  result.timings["emit"] = seconds(object.emit);
  result.timings["link"] = seconds(object.link);
  if (objectOptions.keepLlvm)
    result.stages["llvm"] = std::move(object.llvmText);
  if (objectOptions.keepAsm)
    result.stages["asm"] = std::move(object.asmText);
  result.artifact = std::move(object.bytes);
  result.ok = true;
}

void addError(CompileResult &result, const CompileRequest &request,
              const std::string &message, const std::string &hint) {
  syntax::DiagnosticRecord record;
  record.id = diagnosticName(DiagnosticId::CodegenFailed);
  record.severity = "error";
  record.file = request.file;
  record.message = message;
  record.hint = hint;
  result.diagnostics.push_back(record);
  result.rendered += request.file + ": error: in kernel `" + request.kernel +
                     "`: " + message + "\n";
  if (!hint.empty())
    result.rendered += "HINT: " + hint + "\n";
}

} // namespace

CompileResult compile(const CompileRequest &request) {
  CompileResult result;
  try {
    if (syntax::isCudaSource(request.file))
      compileCuda(request, result);
    else
      compileInto(request, result);
  } catch (const CompileError &error) {
    if (error.diagnostics.empty())
      addError(result, request, error.message, error.hint);
    else
      result.addDiagnostics(error.diagnostics);
  } catch (const Error &error) {
    addError(result, request, error.message, error.hint);
  } catch (const std::exception &error) {
    addError(result, request, std::string("internal error: ") + error.what(),
             "this is a defect of tessera; please report it with the kernel");
  }
  if (!result.ok) {
    result.artifact.clear();
    result.stages.clear();
  }
  return result;
}

} // namespace tessera::compiler
