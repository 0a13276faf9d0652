// compiler/CompileGpu.cpp - compiles a request for a tile kernel to PTX and a
// cubin.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/CompileGpu.h"

#include "codegen/analysis/AxisInfo.h"
#include "codegen/gpu/emit/Ptx.h"
#include "codegen/gpu/emit/RegisterLimit.h"
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/lower/Lower.h"
#include "codegen/gpu/lower/SharedBuffers.h"
#include "codegen/gpu/passes/PassList.h"
#include "compiler/CompileParts.h"
#include "compiler/DescribeTiles.h"
#include "compiler/DotRemarks.h"
#include "compiler/Override.h"
#include "compiler/Pipeline.h"
#include "compiler/PrintedLines.h"
#include "compiler/SharedMemoryAdvice.h"
#include "language/Program.h"
#include "language/Remarks.h"
#include "ptx/Ptxas.h"
#include "ptx/ResourceReport.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <optional>

using tessera::language::CompileRequest;
using tessera::language::CompileResult;

namespace tessera::compiler {
namespace {

codegen::gpu::GpuOptions optionsOf(const CompileRequest &request) {
  codegen::gpu::GpuOptions options;
  options.target = GpuTarget::parse(request.target);
  const int64_t warps = request.options.numWarps;
  const int64_t most = options.target.threadsPerBlock / 32;
  if (warps < 1 || warps > most || (warps & (warps - 1)) != 0)
    throw Error("num_warps=" + std::to_string(warps) +
                    " is not possible on a GPU",
                "it is a power of two up to " + std::to_string(most));
  options.numWarps = int(warps);
  options.numStages = int(std::max<int64_t>(request.options.numStages, 1));
  options.swapOperands = request.options.swapAb;
  options.constantInputs = request.options.constantInputs;
  return options;
}

std::vector<std::pair<uint32_t, uint32_t>> disjointOf(mlir::ModuleOp module) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  if (auto found = module->getAttrOfType<mlir::DenseI32ArrayAttr>(
          codegen::gpu::kDisjointAttr))
    for (int64_t i = 0; i + 1 < found.size(); i += 2)
      pairs.emplace_back(found[i], found[i + 1]);
  return pairs;
}

// What ptxas reports about the code; an empty object without ptxas.
Json resourcesOf(const ptx::Resources *resources) {
  if (!resources)
    return Json::object();
  return {{"registers", resources->registers},
          {"spill_stores", resources->spillStores}};
}

// The state of one compilation.
class GpuCompilation {
public:
  GpuCompilation(const CompileRequest &request, CompileResult &result,
                 const PhaseListener &entering)
      : request(request), result(result), entering(entering),
        options(optionsOf(request)), timer(result) {}

  void run() {
    checkStages(request,
                {"tile", "layout", "tiles", "places", "llvm", "ptx", "sass",
                 "resources", "report"},
                {"tile", "layout", "llvm", "ptx"}, "a GPU kernel");
    enter(entering, "front end");
    program = language::Program::load(request);
    timer.lap("parse");
    std::vector<Diagnostic> notes;
    const KernelModule module(*program, request, &notes);
    files = program->files(); // imports are read when needed
    timer.lap("semantics");
    result.addDiagnostics(notes);
    if (request.options.wideGrid)
      module->setAttr(codegen::kWideGridAttr,
                      mlir::UnitAttr::get(module->getContext()));

    enter(entering, "layouts");
    runPhase(*module, "tile", addTilePasses);
    runPhase(*module, "layout", [&](mlir::OpPassManager &passes) {
      codegen::gpu::addLayoutPasses(passes, options);
    });
    options = codegen::gpu::withWarpsOf(*module, options);
    if (wantsStage(request, "places"))
      result.stages["places"] = places.dump() + "\n";
    if (wantsStage(request, "tiles"))
      result.stages["tiles"] = describeTiles(*module);
    addRemarks(*module);
    enter(entering, "LLVM");
    makePtx(*module);
    result.meta.symbol = request.kernel;
    result.meta.params = parametersOf(request);
    result.meta.disjoint = disjointOf(*module);
    result.meta.threads = uint32_t(options.numWarps) * 32;
    if (!module->hasAttr(codegen::kWideGridAttr))
      result.meta.gridLimit = narrowGrid;
    const std::optional<ptx::Cubin> cubin = makeCubin();
    if (wantsStage(request, "resources"))
      result.stages["resources"] =
          resourcesOf(cubin ? &cubin->resources : nullptr).dump() + "\n";
    makeReports(*module, cubin ? &*cubin : nullptr);
    result.stages["ptx"] = std::move(ptx);
    if (cubin)
      result.artifact = cubin->bytes;
    result.ok = true;
  }

private:
  void run(mlir::ModuleOp module,
           const std::function<void(mlir::OpPassManager &)> &add) {
    std::vector<Diagnostic> diagnostics;
    for (const PipelineMessage &message : runPasses(module, false, add))
      diagnostics.push_back(diagnosticOf(
          files, message,
          "write it with other operations, or report it if it should work"));
    if (!diagnostics.empty())
      throw CompileError(std::move(diagnostics));
  }

  void runPhase(mlir::ModuleOp module, const std::string &phase,
                const std::function<void(mlir::OpPassManager &)> &add) {
    run(module, add);
    timer.lap(phase);
    if (const auto *edited = findOverride(request, phase)) {
      files.push_back(replaceStage(module, *edited));
      result.meta.edited.push_back(phase);
      // Assigns memory and inserts barriers anew for the edited text.
      if (phase == "layout")
        run(module, [&](mlir::OpPassManager &passes) {
          codegen::gpu::addMemoryPasses(passes, options);
        });
    }
    if (wantsStage(request, "places")) {
      PlacedText printed = printWithPlaces(module);
      places[phase] = std::move(printed.lines);
      if (wantsStage(request, phase))
        result.stages[phase] = std::move(printed.text);
    } else if (wantsStage(request, phase)) {
      result.stages[phase] = printModule(module);
    }
  }

  void addRemarks(mlir::ModuleOp module) {
    for (DotRemark &remark : dotRemarks(module)) {
      const PipelineMessage at = messageAt(remark.location, "");
      language::DiagnosticRecord record;
      record.id = language::dotWithoutTensorCores;
      record.file = at.file;
      record.line = at.line;
      record.column = at.column;
      record.message = std::move(remark.message);
      record.hint = std::move(remark.hint);
      language::addRemark(result, std::move(record));
    }
  }

  void makePtx(mlir::ModuleOp module) {
    llvm::LLVMContext context;
    const bool keep = wantsStage(request, "llvm");
    const auto *llvmEdited = findOverride(request, "llvm");
    // Names of LLVM values take time and serve only readers.
    context.setDiscardValueNames(!keep && !llvmEdited);
    std::unique_ptr<llvm::Module> code;
    try {
      code = codegen::gpu::lowerToLlvm(module, context, options);
    } catch (const CompileError &) {
      throw;
    } catch (const Error &error) {
      PipelineMessage message = placedMessage(error.message);
      std::string hint = error.hint;
      explainSharedMemory(module, message, hint);
      if (message.line == 0)
        throw;
      throw CompileError({diagnosticOf(files, message, hint)});
    }
    if (auto bytes = module->getAttrOfType<mlir::IntegerAttr>(
            codegen::gpu::kSharedBytesAttr))
      result.meta.sharedBytes = uint32_t(bytes.getInt());
    timer.lap("lower");
    codegen::gpu::PtxOptions ptxOptions;
    ptxOptions.target = options.target;
    ptxOptions.entry = request.kernel;
    ptxOptions.keepLlvm = keep;
    if (llvmEdited) {
      code = codegen::gpu::parseGpuLlvm(context, llvmEdited->path,
                                        llvmEdited->text, ptxOptions);
      ptxOptions.optimize = false;
      result.meta.edited.push_back("llvm");
    }
    codegen::gpu::PtxOutput output = codegen::gpu::emitPtx(*code, ptxOptions);
    result.timings["optimize"] = double(output.optimize) * 1e-6;
    result.timings["emit"] = double(output.emit) * 1e-6;
    if (keep)
      result.stages["llvm"] = std::move(output.llvmText);
    ptx = std::move(output.ptx);
    if (const auto *edited = findOverride(request, "ptx")) {
      ptx = edited->text;
      result.meta.edited.push_back("ptx");
    }
  }

  std::optional<ptx::Cubin> makeCubin() {
    timer.lap("");
    result.timings.erase("");
    if (request.assembler == "none")
      return std::nullopt;
    if (request.assembler.empty()) {
      // Looks for ptxas once per process.
      static const std::optional<Ptxas> found = findPtxas();
      if (!found)
        return std::nullopt;
      ptxas = found->path;
    } else {
      ptxas = request.assembler;
    }
    enter(entering, "ptxas");
    codegen::gpu::RegisterLimitOptions how;
    how.sharedBytes = result.meta.sharedBytes;
    how.threads = result.meta.threads;
    how.assemble.ptxas = ptxas;
    how.assemble.target = options.target;
    how.assemble.kernel = request.kernel;
    how.assemble.timeout =
        std::chrono::seconds(optionNumber(Option::PtxasTimeout));
    if (const auto *edited = findOverride(request, "ptx"))
      how.assemble.edited =
          std::make_shared<SourceFile>(edited->path, edited->text);
    codegen::gpu::Assembled assembled =
        codegen::gpu::assembleForOccupancy(ptx, how);
    result.meta.minBlocks = assembled.minBlocks;
    timer.lap("ptxas");
    return std::move(assembled.cubin);
  }

  void makeReports(mlir::ModuleOp module, const ptx::Cubin *cubin) {
    const bool wantsSass = wantsStage(request, "sass");
    const bool wantsReport = wantsStage(request, "report");
    if (!wantsSass && !wantsReport)
      return;
    std::string sass;
    const auto nvdisasm = cubin ? findDisassembler(ptxas)
                                : std::optional<std::filesystem::path>();
    if (nvdisasm)
      sass = ptx::disassemble(cubin->bytes, *nvdisasm);
    else if (wantsSass)
      throw Error(cubin ? "no nvdisasm to show the SASS with"
                        : "no SASS without ptxas",
                  "install a CUDA toolkit or the triton wheel (scripts/setup "
                  "full), or leave sass out");
    if (wantsReport) {
      ptx::ReportInput input;
      input.target = options.target;
      input.ptx = ptx;
      input.resources = cubin ? &cubin->resources : nullptr;
      if (cubin)
        input.ptxasVersion = askPtxasVersion(ptxas);
      input.sass = sass;
      input.sharedBytes = result.meta.sharedBytes;
      input.threads = result.meta.threads;
      input.buffers = codegen::gpu::sharedBuffers(module);
      for (const language::DiagnosticRecord &remark :
           language::remarksOf(result))
        input.remarks.push_back({language::placeOf(remark), remark.message});
      result.stages["report"] =
          ptx::makeReport(input, request.kernel).dump(2) + "\n";
    }
    if (wantsSass)
      result.stages["sass"] = std::move(sass);
    timer.lap("report");
  }

  // If the kernel needs too much shared memory, explains what uses it and which
  // configurations would fit.
  void explainSharedMemory(mlir::ModuleOp module, PipelineMessage &message,
                           std::string &hint) {
    auto bytes = module->getAttrOfType<mlir::IntegerAttr>(
        codegen::gpu::kSharedBytesAttr);
    if (!bytes || uint64_t(bytes.getInt()) <= options.target.sharedPerBlock)
      return;
    message.text =
        "the kernel needs " + std::to_string(bytes.getInt()) +
        " bytes of shared memory; a block on " + options.target.name + " has " +
        std::to_string(options.target.sharedPerBlock) + ": " +
        codegen::gpu::describeBuffers(codegen::gpu::sharedBuffers(module));
    // The configurations do not apply to an edited stage.
    if (request.overrides.empty())
      hint = adviceForSharedMemory(*program, request, options);
  }

  const CompileRequest &request;
  CompileResult &result;
  const PhaseListener &entering;
  codegen::gpu::GpuOptions options;
  PhaseTimer timer;
  std::shared_ptr<const language::Program> program;
  SourceFiles files;
  Json places = Json::object(); // line maps of the printed IR, by stage
  std::string ptx;
  std::filesystem::path ptxas;
};

} // namespace

void compileGpu(const CompileRequest &request, CompileResult &result,
                const PhaseListener &entering) {
  GpuCompilation(request, result, entering).run();
}

} // namespace tessera::compiler
