// tests/unit/codegen/gpu/MemoryBarriersTest.cpp - accesses keep their order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tessera;

namespace {

int barriers(const GpuKernel &kernel) {
  int count = 0;
  for (size_t at = 0;
       (at = kernel.ptx.find("bar.sync", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

const char *pointers = R"(
  %i = tile.range 0, 1024 : tensor<1024xi32>
  %one = arith.constant dense<1> : tensor<1024xi32>
  %next = arith.addi %i, %one : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
  %ys = tile.splat %y : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
  %xp = tile.addptr %xs, %i : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %xn = tile.addptr %xs, %next : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %yp = tile.addptr %ys, %i : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
)";

GpuKernel orderedKernel(const std::string &body, int warps = 8) {
  GpuKernelOptions how;
  how.numWarps = warps;
  return GpuKernel(
      "func.func @k(%x: !tile.ptr<i32>, %y: !tile.ptr<i32>, %n: i32) {\n" +
          std::string(pointers) + body + "  return\n}\n",
      how);
}

std::vector<int32_t> counted(size_t n) {
  std::vector<int32_t> x(n);
  std::iota(x.begin(), x.end(), 0);
  return x;
}

// A warp that has stored must not change what another has yet to load.
TEST(GpuMemoryBarriers, AShiftInPlaceReadsEverythingFirst) {
  GpuKernel kernel = orderedKernel(R"(
  %v = tile.load %xp : tensor<1024x!tile.ptr<i32>>
  tile.store %xn, %v : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
)");
  EXPECT_EQ(barriers(kernel), 1) << kernel.layoutText;
  std::vector<int32_t> x = counted(1025), y(1);
  kernel.run({1}, {x, y, 0});
  EXPECT_EQ(x[0], 0);
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(x[size_t(i) + 1], i);
}

TEST(GpuMemoryBarriers, WhatWasStoredIsLoaded) {
  GpuKernel kernel = orderedKernel(R"(
  tile.store %xp, %next : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %v = tile.load %xn : tensor<1024x!tile.ptr<i32>>
  tile.store %yp, %v : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
)");
  EXPECT_EQ(barriers(kernel), 1) << kernel.layoutText;
  std::vector<int32_t> x(1025, -1), y(1024);
  kernel.run({1}, {x, y, 0});
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(y[size_t(i)], i < 1023 ? i + 2 : -1);
}

TEST(GpuMemoryBarriers, EveryIterationOfALoop) {
  GpuKernel kernel = orderedKernel(R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %v = tile.load %xp : tensor<1024x!tile.ptr<i32>>
    tile.store %xn, %v : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  }
)");
  std::vector<int32_t> x = counted(1025), y(1);
  kernel.run({1}, {x, y, 5});
  for (int i = 0; i <= 1024; ++i)
    ASSERT_EQ(x[size_t(i)], std::max(i - 5, 0));
}

// Thread 0 stores a scalar that every thread has loaded.
TEST(GpuMemoryBarriers, ACounterInMemory) {
  GpuKernel kernel = orderedKernel(R"(
  %c1 = arith.constant 1 : i32
  %v = tile.load %x : !tile.ptr<i32>
  %w = arith.addi %v, %c1 : i32
  tile.store %x, %w : !tile.ptr<i32>, i32
  %r = tile.load %x : !tile.ptr<i32>
  %s = tile.splat %r : i32 -> tensor<1024xi32>
  tile.store %yp, %s : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
)");
  EXPECT_EQ(barriers(kernel), 2) << kernel.layoutText;
  std::vector<int32_t> x(1, 41), y(1024);
  kernel.run({1}, {x, y, 0});
  EXPECT_EQ(x[0], 42);
  for (int32_t each : y)
    ASSERT_EQ(each, 42);
}

// What a lock protects is stored before the lock is given back.
TEST(GpuMemoryBarriers, AnAtomicComesAfterStores) {
  const std::string stores = R"(
  tile.store %yp, %i : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
)";
  auto release = [](const std::string &words) {
    return "  %o = tile.atomic_rmw xchg %x, %n " + words +
           " : !tile.ptr<i32>, i32\n";
  };
  EXPECT_EQ(barriers(orderedKernel(stores + release(""))), 1);
  EXPECT_EQ(barriers(orderedKernel(stores + release("{sem = \"relaxed\"}"))),
            0);
  EXPECT_EQ(barriers(orderedKernel(stores + "  tile.barrier\n" + release(""))),
            1);
}

TEST(GpuMemoryBarriers, NothingWhereElementsStayWithTheirThreads) {
  // In place, one output tile after another, two arguments.
  EXPECT_EQ(barriers(orderedKernel(R"(
  %v = tile.load %xp : tensor<1024x!tile.ptr<i32>>
  %w = arith.addi %v, %v : tensor<1024xi32>
  tile.store %xp, %w : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  tile.store %yp, %v : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %c0 = arith.constant 0 : i32
  %c1024 = arith.constant 1024 : i32
  scf.for %k = %c0 to %n step %c1024 : i32 {
    %ks = tile.splat %k : i32 -> tensor<1024xi32>
    %p = tile.addptr %yp, %ks : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
    tile.store %p, %w : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  }
)")),
            1); // the first tile of y may meet the loop's
  EXPECT_EQ(barriers(orderedKernel(R"(
  %c0 = arith.constant 0 : i32
  %c1024 = arith.constant 1024 : i32
  scf.for %k = %c0 to %n step %c1024 : i32 {
    %ks = tile.splat %k : i32 -> tensor<1024xi32>
    %xk = tile.addptr %xp, %ks : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
    %v = tile.load %xk : tensor<1024x!tile.ptr<i32>>
    %p = tile.addptr %yp, %ks : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
    tile.store %p, %v : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  }
)")),
            0);
  // A scatter may meet itself in the next iteration.
  EXPECT_EQ(barriers(orderedKernel(R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %ks = tile.splat %k : i32 -> tensor<1024xi32>
    %xk = tile.addptr %xp, %ks : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
    %v = tile.load %xk : tensor<1024x!tile.ptr<i32>>
    %p = tile.addptr %ys, %v : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
    tile.store %p, %ks : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  }
)")),
            1);
}

} // namespace
