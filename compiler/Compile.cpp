// compiler/Compile.cpp - compiles a request to a shared object.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compile.h"

#include "codegen/cpu/Lower.h"
#include "codegen/cpu/object/Object.h"
#include "compiler/CompileGpu.h"
#include "compiler/CompileParts.h"
#include "compiler/Override.h"
#include "compiler/Pipeline.h"
#include "compiler/cuda/CompileCuda.h"
#include "compiler/semantics/Semantics.h"
#include "compiler/semantics/ValueLog.h"
#include "language/CudaSource.h"
#include "language/Program.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/GpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

using tessera::language::CompileRequest;
using tessera::language::CompileResult;

namespace tessera::compiler {
namespace {

language::ArtifactMeta metaOf(const CompileRequest &request,
                              mlir::ModuleOp module) {
  language::ArtifactMeta meta;
  meta.params = parametersOf(request);
  if (module->hasAttr(codegen::cpu::kReportsAttr))
    meta.params.push_back({"", "report", ""});
  if (auto bytes = module->getAttrOfType<mlir::IntegerAttr>(
          codegen::cpu::kScratchBytesAttr))
    meta.scratchBytes = uint64_t(bytes.getInt());
  return meta;
}

// Runs the pipeline and returns its errors with positions in the kernel's
// files.
std::vector<Diagnostic> lower(const SourceFiles &files, mlir::ModuleOp module,
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
        diagnosticOf(files, placedMessage(error.message), error.hint));
  }
  return diagnostics;
}

void compileInto(const CompileRequest &request, CompileResult &result,
                 const PhaseListener &entering) {
  PhaseTimer timer(result);
  auto target = CpuTarget::parse(request.target);
  if (!target)
    throw Error("cannot compile for the target `" + request.target + "`",
                "targets look like cpu:x86-64-v3:0000 or sm_80");
  checkStages(request, {"tile", "loops", "llvm", "asm"},
              {"tile", "loops", "llvm", "asm"}, "a CPU kernel");

  enter(entering, "front end");
  auto program = language::Program::load(request);
  timer.lap("parse");
  std::vector<Diagnostic> notes;
  const KernelModule module(*program, request, &notes);
  SourceFiles files = program->files(); // imports are read when needed
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
    if (wantsStage(request, phase))
      result.stages[std::string(phase)] = printModule(current);
  };
  enter(entering, "loops");
  auto diagnostics = lower(files, *module, options);
  if (!diagnostics.empty())
    throw CompileError(std::move(diagnostics));
  auto edited = std::move(result.meta.edited);
  result.meta = metaOf(request, *module);

  codegen::cpu::ObjectOptions objectOptions;
  objectOptions.target = *target;
  objectOptions.keepLlvm = wantsStage(request, "llvm");
  objectOptions.keepAsm = wantsStage(request, "asm");
  if (const auto *text = findOverride(request, "llvm")) {
    objectOptions.llvmPath = text->path;
    objectOptions.llvmText = text->text;
    edited.push_back(text->stage);
  }
  if (const auto *text = findOverride(request, "asm")) {
    objectOptions.asmPath = text->path;
    objectOptions.asmText = text->text;
    edited.push_back(text->stage);
  }
  result.meta.edited = std::move(edited);
  enter(entering, "LLVM");
  auto object = codegen::cpu::emitSharedObject(*module, objectOptions);
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
  result.meta.lines = std::move(object.lines);
  result.ok = true;
}

// Parses and type-checks the kernel without generating code; used by editors.
void readOnly(const CompileRequest &request, CompileResult &result) {
  PhaseTimer timer(result);
  auto program = language::Program::load(request);
  std::vector<Diagnostic> notes;
  semantics::ValueLog values;
  const KernelModule module(*program, request, &notes, &values);
  result.addDiagnostics(notes);
  result.stages["values"] = values.json();
  result.ok = true;
}

bool isInternal(const std::string &message) {
  return message.starts_with("internal error");
}

void addError(CompileResult &result, const CompileRequest &request,
              const std::string &message, const std::string &hint) {
  result.defect |= isInternal(message);
  language::DiagnosticRecord record;
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

CompileResult compile(const CompileRequest &request,
                      const PhaseListener &entering) {
  CompileResult result;
  try {
    if (language::isCudaSource(request.file)) {
      enter(entering, "NVRTC");
      compileCuda(request, result);
    } else if (request.frontEndOnly) {
      enter(entering, "front end");
      readOnly(request, result);
    } else if (GpuTarget::looksLike(request.target)) {
      compileGpu(request, result, entering);
    } else {
      compileInto(request, result, entering);
    }
  } catch (const CompileError &error) {
    for (const Diagnostic &each : error.diagnostics)
      result.defect |= isInternal(each.message);
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
