// tests/unit/codegen/gpu/InstancesTest.cpp - every kernel of kernels/ becomes
// PTX. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Lower.h"
#include "codegen/gpu/Ptx.h"
#include "compiler/Pipeline.h"
#include "compiler/semantics/Semantics.h"
#include "compiler/syntax/Decorators.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace tessera;

namespace {

std::string ptxOf(mlir::ModuleOp module, const std::string &kernel,
                  const codegen::GpuOptions &options) {
  mlir::PassManager passes(module.getContext());
  compiler::addTilePasses(passes);
  codegen::addLayoutPasses(passes, options);
  if (mlir::failed(passes.run(module)) || mlir::failed(mlir::verify(module)))
    throw Error("the passes failed");
  llvm::LLVMContext context;
  auto code = codegen::lowerToLlvm(module, context, options);
  codegen::PtxOptions ptx;
  ptx.target = options.target;
  ptx.entry = kernel;
  return codegen::emitPtx(*code, ptx).ptx;
}

TEST(GpuInstances, AllBecomePtx) {
  size_t good = 0;
  const char *only = std::getenv("TESSERA_TEST_INSTANCE");
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(KERNEL_DIR)) {
    if (entry.path().extension() != ".py")
      continue;
    auto program = syntax::Program::loadFile(entry.path());
    for (const syntax::StmtPtr &stmt : program->main().body) {
      auto *function = stmt->as<syntax::FunctionDef>();
      if (!function || function->hints.empty())
        continue;
      syntax::Hints hints = syntax::describeKernel(*program, *function).hints;
      for (const syntax::Instance &instance : hints.instances) {
        if (only && instance.name != only)
          continue;
        syntax::CompileRequest request;
        request.file = entry.path();
        request.kernel = function->name;
        request.args = instance.arguments;
        mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
        semantics::loadDialects(context);
        codegen::GpuOptions options;
        options.target = GpuTarget::parse("sm_80");
        options.numWarps = int(instance.numWarps.value_or(4));
        options.numStages = int(instance.numStages.value_or(3));
        try {
          auto module = semantics::buildTileModule(context, *program, request);
          std::string ptx = ptxOf(*module, function->name, options);
          EXPECT_NE(ptx.find(".entry " + function->name), std::string::npos);
          if (only)
            std::ofstream(instance.name + ".ptx") << ptx;
          ++good;
        } catch (const std::exception &error) {
          ADD_FAILURE() << instance.name << "\n" << error.what();
        }
      }
    }
  }
  EXPECT_TRUE(only || good > 50u);
}

} // namespace
