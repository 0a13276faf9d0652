// tests/unit/codegen/InstancesTest.cpp - every kernel of kernels/ lowers to
// cpu. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Lower.h"
#include "codegen/cpu/Object.h"
#include "compiler/semantics/Semantics.h"
#include "compiler/syntax/Decorators.h"
#include "support/Error.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace tessera;

namespace {

TEST(CpuInstances, AllLower) {
  size_t lowered = 0;
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
        syntax::CompileRequest request;
        request.file = entry.path();
        request.kernel = function->name;
        request.args = instance.arguments;
        mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
        semantics::loadDialects(context);
        try {
          auto module = semantics::buildTileModule(context, *program, request);
          codegen::lowerToCpu(*module, codegen::cpuOptionsFor(CpuTarget()));
          EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
          auto scratch = (*module)->getAttrOfType<mlir::IntegerAttr>(
              codegen::kScratchBytesAttr);
          ASSERT_TRUE(scratch);
          // What a thread can be asked to set aside.
          EXPECT_LT(scratch.getInt(), 16 << 20) << instance.name;
          // Throws if the object needs a symbol from outside.
          codegen::ObjectOptions options;
          EXPECT_FALSE(
              codegen::emitSharedObject(*module, options).bytes.empty());
          ++lowered;
        } catch (const Error &error) {
          ADD_FAILURE() << instance.name << "\n" << error.what();
        }
      }
    }
  }
  EXPECT_GT(lowered, 50u);
}

} // namespace
