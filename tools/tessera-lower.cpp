// tools/tessera-lower.cpp - lowers kernels in tile IR through the GPU back end,
// for tests and for debugging.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/Ptx.h"
#include "codegen/gpu/lower/Lower.h"
#include "codegen/gpu/passes/PassList.h"
#include "codegen/gpu/passes/Passes.h"
#include "compiler/DotRemarks.h"
#include "compiler/Passes.h"
#include "compiler/Pipeline.h"
#include "support/Error.h"
#include "tools/TraceOption.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

namespace {

cl::opt<std::string> input(cl::Positional, cl::desc("FILE.mlir"),
                           cl::init("-"));
cl::opt<std::string> target("target", cl::desc("sm_80 ..."), cl::init("sm_80"));
cl::opt<int> numWarps("num-warps", cl::desc("warps of a block"), cl::init(4));
cl::opt<int> numStages("num-stages", cl::desc("pipeline depth"), cl::init(3));
cl::opt<std::string>
    emit("emit",
         cl::desc("layout (with places in shared memory), llvm (not optimized) "
                  "or ptx"),
         cl::init("ptx"));
cl::opt<bool> remarks("remarks",
                      cl::desc("say on stderr which dots miss the tensor "
                               "cores"));
cl::opt<bool> laidOut("laid-out",
                      cl::desc("the tensors have layouts: no layout passes"));

void lower(mlir::ModuleOp module, const std::string &kernel) {
  codegen::gpu::GpuOptions options;
  options.target = GpuTarget::parse(target);
  options.numWarps = numWarps;
  options.numStages = numStages;
  mlir::PassManager passes(module.getContext());
  if (laidOut) {
    passes.addPass(codegen::gpu::createDotInstructionsPass());
    codegen::gpu::addMemoryPasses(passes, options);
  } else {
    compiler::addTilePasses(passes);
    codegen::gpu::addLayoutPasses(passes, options);
  }
  if (mlir::failed(passes.run(module)))
    throw Error("a pass failed", "see what it said");
  if (remarks)
    for (const compiler::DotRemark &remark : compiler::dotRemarks(module))
      mlir::emitRemark(remark.location)
          << remark.message << ". HINT: " << remark.hint;
  if (emit == "layout") {
    llvm::outs() << module << "\n";
    return;
  }
  llvm::LLVMContext context;
  auto code = codegen::gpu::lowerToLlvm(module, context, options);
  if (emit == "llvm") {
    llvm::outs() << *code;
    return;
  }
  if (emit != "ptx")
    throw Error("--emit has no `" + emit + "`", "layout, llvm, ptx");
  codegen::gpu::PtxOptions ptx;
  ptx.target = options.target;
  ptx.entry = kernel;
  llvm::outs() << codegen::gpu::emitPtx(*code, ptx).ptx;
}

int run() {
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!text)
    throw Error("cannot read " + input + ": " + text.getError().message(),
                "give a file of tile IR");
  mlir::DialectRegistry registry;
  compiler::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto whole = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!whole)
    return 1;
  for (auto function : whole->getOps<mlir::func::FuncOp>()) {
    auto module = mlir::OwningOpRef<mlir::ModuleOp>(
        mlir::ModuleOp::create(function.getLoc()));
    (*module)->setAttrs((*whole)->getAttrDictionary());
    module->push_back(function.clone());
    lower(*module, function.getName().str());
  }
  return 0;
}

} // namespace

// Lowers each function of the file as a kernel in a separate module.
int main(int argc, char **argv) {
  compiler::registerPasses();
  cl::ParseCommandLineOptions(
      argc, argv, "tessera-lower: tile IR to layouts, LLVM IR or PTX\n");
  try {
    return run();
  } catch (const Error &error) {
    llvm::outs().flush();
    llvm::errs() << error.what() << "\n";
    return 1;
  }
}
