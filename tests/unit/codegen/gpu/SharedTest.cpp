// tests/unit/codegen/gpu/SharedTest.cpp - asynchronous copies on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

#include <functional>

using namespace tessera;

namespace {

// Two buffers: the second is filled while the first is read. WAIT and BARRIER
// keep the accesses apart; AFTER is inserted after the read.
std::string kernelText(const std::string &wait, const std::string &barrier,
                       const std::string &after = "") {
  return R"(
#rows = #tile.linear<16x32, register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#acc = #tile.linear<16x32, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]]>
#mem = #tile.shared<16x32, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0], [8, 0]]>
func.func @copy(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32) {
  %r = tile.range 0, 16 : tensor<16xi32, #tile.linear<16, register = [], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>>
  %c = tile.range 0, 32 : tensor<32xi32, #tile.linear<32, register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [[0], [0]]>>
  %r1 = tile.expand_dims %r, 1 : tensor<16xi32, #tile.linear<16, register = [], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]]>> -> tensor<16x1xi32, #tile.linear<16x1, register = [], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>>
  %c1 = tile.expand_dims %c, 0 : tensor<32xi32, #tile.linear<32, register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [[0], [0]]>> -> tensor<1x32xi32, #tile.linear<1x32, register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>>
  %rr = tile.broadcast %r1 : tensor<16x1xi32, #tile.linear<16x1, register = [], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>> -> tensor<16x32xi32, #rows>
  %cc = tile.broadcast %c1 : tensor<1x32xi32, #tile.linear<1x32, register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>> -> tensor<16x32xi32, #rows>
  %k32 = arith.constant dense<32> : tensor<16x32xi32, #rows>
  %rm = arith.muli %rr, %k32 : tensor<16x32xi32, #rows>
  %o = arith.addi %rm, %cc : tensor<16x32xi32, #rows>
  %sn = tile.splat %n : i32 -> tensor<16x32xi32, #rows>
  %mask = arith.cmpi slt, %rr, %sn : tensor<16x32xi32, #rows>
  %si = tile.splat %in : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>, #rows>
  %p = tile.addptr %si, %o : tensor<16x32x!tile.ptr<f32>, #rows>, tensor<16x32xi32, #rows>
  %oa = tile.convert_layout %o : tensor<16x32xi32, #rows> -> tensor<16x32xi32, #acc>
  %so = tile.splat %out : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>, #acc>
  %q = tile.addptr %so, %oa : tensor<16x32x!tile.ptr<f32>, #acc>, tensor<16x32xi32, #acc>
  %b = tile.smem_alloc : !tile.smem<2 x 16x32xf32, #mem>
  %c1i = arith.constant 1 : i32
  %v = tile.smem_index %b[%c1i] : !tile.smem<2 x 16x32xf32, #mem>
  %t = tile.async_copy %p, %v mask %mask vector 4 : tensor<16x32x!tile.ptr<f32>, #rows> -> !tile.smem<1 x 16x32xf32, #mem>
  %g = tile.async_commit %t
)" + wait +
         "\n" + barrier + R"(
  %x = tile.smem_load %v : !tile.smem<1 x 16x32xf32, #mem> -> tensor<16x32xf32, #acc>
  tile.store %q, %x : tensor<16x32x!tile.ptr<f32>, #acc>, tensor<16x32xf32, #acc>
)" + after +
         R"(
  return
}
)";
}

TEST(GpuShared, CopiesArriveAndMaskedRowsAreZero) {
  GpuKernelOptions how;
  how.assignLayouts = false;
  GpuKernel kernel(kernelText("tile.async_wait %g", "tile.barrier"), how);
  std::vector<float> in(512), out(512, -1);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i + 1);
  kernel.run({1}, {in, out, 11});
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], i / 32 < 11 ? in[i] : 0) << i;
  EXPECT_NE(kernel.ptx.find("cp.async.cg.shared.global"), std::string::npos);
  // The conversion of the addresses is done before the copy starts: its scratch
  // is the buffers.
  EXPECT_EQ(kernel.sharedBytes, 2 * 512 * 4u);
}

TEST(GpuShared, TheSimulatorSeesAMissingWaitAndAMissingBarrier) {
  GpuKernelOptions how;
  how.assignLayouts = false;
  std::vector<float> in(512), out(512, -1);
  EXPECT_THROW(
      GpuKernel(kernelText("", "tile.barrier", "tile.async_wait %g"), how)
          .run({1}, {in, out, 16}),
      std::exception);
  EXPECT_THROW(GpuKernel(kernelText("tile.async_wait %g", ""), how)
                   .run({1}, {in, out, 16}),
               std::exception);
}

// The message of the lowering for the kernel after these passes, where the
// conversion has `bytes` of scratch memory.
std::string refused(const std::function<void(mlir::PassManager &)> &add,
                    int64_t bytes = -1) {
  mlir::DialectRegistry registry;
  registry.insert<tile::TileDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kernelText("tile.async_wait %g", "tile.barrier"), &context);
  mlir::PassManager passes(&context);
  add(passes);
  EXPECT_TRUE(module && mlir::succeeded(passes.run(*module)));
  if (bytes >= 0)
    module->walk([&](tile::ConvertLayoutOp op) {
      op->setAttr("tile.scratch_bytes",
                  mlir::Builder(&context).getI64IntegerAttr(bytes));
    });
  codegen::gpu::GpuOptions options;
  options.target = GpuTarget::parse("sm_80");
  llvm::LLVMContext code;
  try {
    codegen::gpu::lowerToLlvm(*module, code, options);
  } catch (const Error &error) {
    return error.message;
  }
  return "";
}

TEST(GpuShared, TheLoweringWantsWhatThePassesDecide) {
  using namespace codegen::gpu;
  EXPECT_NE(refused([](auto &passes) {
              passes.addPass(createAsyncWaitsPass());
            }).find("has no place in shared memory"),
            std::string::npos);
  EXPECT_NE(refused([](auto &passes) {
              passes.addPass(createAllocateSharedPass());
            }).find("the wait has no number of groups to leave"),
            std::string::npos);
  auto all = [](mlir::PassManager &passes) {
    codegen::gpu::GpuOptions options;
    options.target = GpuTarget::parse("sm_80");
    codegen::gpu::addMemoryPasses(passes, options);
  };
  EXPECT_EQ(refused(all), "");
  EXPECT_EQ(refused(all, 2048), "");
  EXPECT_NE(refused(all, 1024).find("convert_layout has no place in shared"),
            std::string::npos);
}

} // namespace
