// tests/unit/codegen/gpu/ControlTest.cpp - loops, branches, scalars on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

#include <array>

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

// Ranges whose next number would not fit into 32 bits end all the same.
TEST(GpuControl, RangesThatEndNearTheLargestNumber) {
  GpuKernel kernel(R"(
func.func @numbers(%o: !tile.ptr<i32>, %low: i32, %n: i32, %step: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %count = scf.for %i = %low to %n step %step iter_args(%a = %c0) -> (i32) : i32 {
    %at = arith.minsi %a, %c7 : i32
    %p = tile.addptr %o, %at : !tile.ptr<i32>, i32
    tile.store %p, %i : !tile.ptr<i32>, i32
    %b = arith.addi %a, %c1 : i32
    scf.yield %b : i32
  }
  %c8 = arith.constant 8 : i32
  %end = tile.addptr %o, %c8 : !tile.ptr<i32>, i32
  tile.store %end, %count : !tile.ptr<i32>, i32
  return
}
)");
  constexpr int32_t least = INT32_MIN, most = INT32_MAX;
  for (auto [low, n, step] : {std::array<int32_t, 3>{0, 10, 4},
                              {most - 10, most, 7},
                              {0, most, 1 << 30},
                              {-5, most, 1 << 30},
                              {most - 1, most, most},
                              {least, least + 3, most},
                              {least, most, most},
                              {5, 5, 1},
                              {7, 3, most},
                              {most, least, 1}}) {
    std::vector<int32_t> o(9, 99), expected(9, 99);
    int32_t count = 0;
    for (int64_t i = low; i < n; i += step)
      expected[size_t(count++)] = int32_t(i);
    expected[8] = count;
    kernel.run({1}, {o, low, n, step});
    EXPECT_EQ(o, expected) << low << " " << n << " " << step;
  }
}

// The same with prefetching copies, which must not read past the last
// iteration.
TEST(GpuControl, CopiesAheadOfRangesThatEndNearTheLargestNumber) {
  const char *text = R"(
func.func @sum(%q: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %low: i32, %n: i32, %step: i32) {
  %size = arith.constant 1024 : i32
  %r = tile.range 0, 32 : tensor<32xi32>
  %row = tile.expand_dims %r, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %col = tile.expand_dims %r, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %c32 = arith.constant dense<32> : tensor<32x1xi32>
  %rm = arith.muli %row, %c32 : tensor<32x1xi32>
  %rb = tile.broadcast %rm : tensor<32x1xi32> -> tensor<32x32xi32>
  %cb = tile.broadcast %col : tensor<1x32xi32> -> tensor<32x32xi32>
  %off = arith.addi %rb, %cb : tensor<32x32xi32>
  %ks = tile.splat %k : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
  %kp = tile.addptr %ks, %off : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
  %kt = tile.load %kp : tensor<32x32x!tile.ptr<f16>>
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %s = scf.for %i = %low to %n step %step iter_args(%x = %z) -> (tensor<32x32xf32>) : i32 {
    %passed = arith.subi %i, %low : i32
    %number = arith.divui %passed, %step : i32
    %d = arith.muli %number, %size : i32
    %qb = tile.addptr %q, %d : !tile.ptr<f16>, i32
    %qs = tile.splat %qb : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
    %qp = tile.addptr %qs, %off : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
    %ql = tile.load %qp : tensor<32x32x!tile.ptr<f16>>
    %x1 = tile.dot %ql, %kt, %x tf32 : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %x1 : tensor<32x32xf32>
  }
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %op = tile.addptr %os, %off : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  tile.store %op, %s : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}
)";
  constexpr int32_t least = INT32_MIN, most = INT32_MAX;
  for (int stages : {2, 3, 4, 5}) {
    GpuKernelOptions how;
    how.numStages = stages;
    GpuKernel kernel(text, how);
    ASSERT_NE(kernel.ptx.find("cp.async"), std::string::npos);
    for (auto [low, n, step] : {std::array<int32_t, 3>{0, 7, 2},
                                {most - 10, most, 7},
                                {0, most, 1 << 30},
                                {-5, most, 1 << 30},
                                {least, least + 3, most},
                                {-7, most, most},
                                {most, least, 1}}) {
      size_t iterations = 0;
      for (int64_t i = low; i < n; i += step)
        ++iterations;
      // The memory ends with the last tile: a later read is out of bounds.
      std::vector<_Float16> q(iterations * 1024), k(1024);
      for (size_t i = 0; i < q.size(); ++i)
        q[i] = _Float16(int(i * 7 % 11) - 5);
      for (size_t i = 0; i < 32; ++i)
        k[i * 33] = 1;
      std::vector<float> o(1024), expected(1024);
      for (size_t i = 0; i < q.size(); ++i)
        expected[i % 1024] += float(q[i]);
      kernel.run({1}, {q, k, o, low, n, step});
      EXPECT_EQ(o, expected)
          << stages << ": " << low << " " << n << " " << step;
    }
  }
}

// Where a tile starts, and a quotient of it, where the product wraps: in a grid
// of more than 2^21 programs, and for a size that is not a tile's.
TEST(GpuControl, StartsOfTilesThatWrap) {
  const auto text = [](const std::string &attributes, int64_t size,
                       int64_t first) {
    return "module " + attributes + R"( {
func.func @starts(%o: !tile.ptr<i32>) {
  %pid = tile.program_id 0 : i32
  %first = arith.constant )" +
           std::to_string(first) + R"( : i32
  %size = arith.constant )" +
           std::to_string(size) + R"( : i32
  %c16 = arith.constant 16 : i32
  %late = arith.cmpi sge, %pid, %first : i32
  scf.if %late {
    %start = arith.muli %pid, %size : i32
    %q = arith.divsi %start, %c16 : i32
    %at = arith.subi %pid, %first : i32
    %p = tile.addptr %o, %at : !tile.ptr<i32>, i32
    tile.store %p, %q : !tile.ptr<i32>, i32
  }
  return
}
})";
  };
  const int32_t quotient = INT32_MIN / 16;
  std::vector<int32_t> o(2);
  GpuKernel sized(text("", 1 << 20, 2047));
  sized.run({2049}, {o});
  EXPECT_EQ(o, std::vector<int32_t>({2047 << 16, quotient}));
  GpuKernel wide(text("attributes {tessera.wide_grid}", 1024, (1 << 21) - 1));
  wide.run({(1 << 21) + 1}, {o});
  EXPECT_EQ(o, std::vector<int32_t>({((1 << 21) - 1) * 64, quotient}));
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
