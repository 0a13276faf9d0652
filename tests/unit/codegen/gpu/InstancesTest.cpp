// tests/unit/codegen/gpu/InstancesTest.cpp - every kernel of kernels/ becomes
// PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/semantics/Instances.h"
#include "codegen/gpu/emit/Ptx.h"
#include "codegen/gpu/lower/Lower.h"
#include "codegen/gpu/passes/PassList.h"
#include "compiler/DescribeTiles.h"
#include "compiler/Pipeline.h"
#include "dialect/layout/Parse.h"
#include "dialect/layout/ShapeOps.h"
#include "support/Error.h"
#include "support/Json.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <cstdlib>
#include <fstream>

using namespace tessera;

namespace {

bool hasTensors(mlir::ModuleOp module) {
  return module
      ->walk([](mlir::Operation *op) {
        return llvm::any_of(op->getResultTypes(),
                            llvm::IsaPred<mlir::RankedTensorType>)
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// What `tessera layout FILE:LINE` draws: every tile of the kernel has a layout
// that can be read back. Only kernels of scalars, which find the first reader
// of a key, do not have any.
void checkTiles(mlir::ModuleOp module) {
  const Json tiles = parseJson(compiler::describeTiles(module), "tiles");
  if (!hasTensors(module)) {
    EXPECT_TRUE(tiles.empty());
    return;
  }
  EXPECT_GT(tiles.size(), 3u);
  for (const Json &tile : tiles) {
    const auto shape = tile["shape"].get<std::vector<int64_t>>();
    const layout::LinearLayout map =
        layout::parseLayout(tile["layout"], shape, tile["bits"]);
    EXPECT_TRUE(map.isSurjective()) << tile;
    EXPECT_EQ(layout::shapeOf(map), shape);
    EXPECT_GT(tile["places"].size(), 0u) << tile;
  }
}

std::string ptxOf(mlir::ModuleOp module, const std::string &kernel,
                  const codegen::gpu::GpuOptions &options) {
  mlir::PassManager passes(module.getContext());
  compiler::addTilePasses(passes);
  codegen::gpu::addLayoutPasses(passes, options);
  if (mlir::failed(passes.run(module)) || mlir::failed(mlir::verify(module)))
    throw Error("the passes failed");
  checkTiles(module);
  llvm::LLVMContext context;
  auto code = codegen::gpu::lowerToLlvm(module, context, options);
  codegen::gpu::PtxOptions ptx;
  ptx.target = options.target;
  ptx.entry = kernel;
  return codegen::gpu::emitPtx(*code, ptx).ptx;
}

TEST(GpuInstances, AllBecomePtx) {
  const char *only = std::getenv("TESSERA_TEST_INSTANCE");
  test::forInstances(
      KERNEL_DIR, 51,
      [&](mlir::ModuleOp module, const language::Instance &instance,
          const std::string &kernel) {
        SCOPED_TRACE(instance.name);
        codegen::gpu::GpuOptions options;
        options.target = GpuTarget::parse("sm_80");
        options.numWarps = int(instance.numWarps.value_or(4));
        options.numStages = int(instance.numStages.value_or(3));
        std::string ptx = ptxOf(module, kernel, options);
        EXPECT_NE(ptx.find(".entry " + kernel), std::string::npos);
        if (only)
          std::ofstream(instance.name + ".ptx") << ptx;
      },
      only);
}

} // namespace
