// tests/unit/codegen/gpu/ControlTest.cpp - loops, branches, scalars on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

TEST(GpuControl, AKernelWithoutMemoryRuns) {
  GpuKernel kernel(R"(
func.func @nothing(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
    %b = arith.addi %a, %i : i32
    scf.yield %b : i32
  }
  return
}
)");
  // There is nothing for four warps to share.
  EXPECT_EQ(kernel.numWarps, 1);
  EXPECT_NE(kernel.ptx.find(".reqntid 32,"), std::string::npos) << kernel.ptx;
  sim::Report report = kernel.run({2}, {7});
  EXPECT_EQ(report.counters.blocks, 2u);
}

// A load of `size` elements, their sum, an atomic whose result all get, and a
// store.
std::string sums(int size) {
  std::string tensor = "tensor<" + std::to_string(size) + "x";
  return "func.func @sums(%x: !tile.ptr<i32> {tile.divisibility = 16 : i32}, "
         "%n: !tile.ptr<i32>) {\n"
         "  %r = tile.range 0, " +
         std::to_string(size) + " : " + tensor +
         "i32>\n  %s = tile.splat %x : !tile.ptr<i32> -> " + tensor +
         "!tile.ptr<i32>>\n  %p = tile.addptr %s, %r : " + tensor +
         "!tile.ptr<i32>>, " + tensor +
         "i32>\n  %v = tile.load %p : " + tensor +
         "!tile.ptr<i32>>\n  %t = tile.reduce sum %v, 0 : " + tensor +
         "i32> -> i32\n"
         "  %o = tile.atomic_rmw add %n, %t : !tile.ptr<i32>, i32\n  %q = "
         "tile.splat %o : i32 -> " +
         tensor + "i32>\n  %w = arith.addi %q, %v : " + tensor +
         "i32>\n  tile.store %p, %w : " + tensor + "!tile.ptr<i32>>, " +
         tensor + "i32>\n  return\n}\n";
}

TEST(GpuControl, BlocksHaveTheWarpsThatTilesFill) {
  for (auto [size, warps] :
       {std::pair(8, 1), {32, 1}, {64, 2}, {128, 4}, {256, 4}}) {
    GpuKernel kernel(sums(size));
    EXPECT_EQ(kernel.numWarps, warps) << size;
    // A warp waits for itself.
    if (warps == 1) {
      EXPECT_EQ(kernel.ptx.find("bar.sync"), std::string::npos) << kernel.ptx;
    }
    std::vector<int32_t> x;
    int32_t total = 0;
    for (int i = 0; i < size; ++i)
      total += x.emplace_back(i * i - 7);
    std::vector<int32_t> expected, counter = {5};
    for (int32_t each : x)
      expected.push_back(5 + each);
    sim::Report report = kernel.run({1}, {x, counter});
    EXPECT_EQ(report.counters.warps, uint64_t(warps)) << size;
    EXPECT_EQ(counter[0], 5 + total) << size;
    EXPECT_EQ(x, expected) << size;
  }
}

} // namespace
