// tests/unit/codegen/gpu/GuardMasksTest.cpp - guarded masks, executed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tessera;

namespace {

constexpr int32_t top = std::numeric_limits<int32_t>::max();

// o[i][j] is the sum over n of (q k)[i][j], or of -1 where n + j > first + i.
GpuKernel kernelOf(bool masked) {
  std::string text = R"(
func.func @k(%x: !tile.ptr<f16>, %y: !tile.ptr<f16>, %o: !tile.ptr<f32>, %first: i32, %begin: i32, %end: i32) {
  %c16 = arith.constant dense<16> : tensor<64x1xi32>
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %k64 = arith.constant dense<64> : tensor<16x1xi32>
  %none = arith.constant dense<-1.0> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %step = arith.constant 64 : i32
  %i64 = tile.range 0, 64 : tensor<64xi32>
  %i16 = tile.range 0, 16 : tensor<16xi32>
  %rows = tile.expand_dims %i64, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %cols = tile.expand_dims %i64, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %colsb = tile.broadcast %cols : tensor<1x64xi32> -> tensor<64x64xi32>
  %kr = tile.expand_dims %i16, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %kc = tile.expand_dims %i16, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %qr = arith.muli %rows, %c16 : tensor<64x1xi32>
  %qrb = tile.broadcast %qr : tensor<64x1xi32> -> tensor<64x16xi32>
  %kcb = tile.broadcast %kc : tensor<1x16xi32> -> tensor<64x16xi32>
  %qo = arith.addi %qrb, %kcb : tensor<64x16xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<64x16x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %qo : tensor<64x16x!tile.ptr<f16>>, tensor<64x16xi32>
  %q = tile.load %xp : tensor<64x16x!tile.ptr<f16>>
  %kro = arith.muli %kr, %k64 : tensor<16x1xi32>
  %krb = tile.broadcast %kro : tensor<16x1xi32> -> tensor<16x64xi32>
  %kcols = tile.broadcast %cols : tensor<1x64xi32> -> tensor<16x64xi32>
  %ko = arith.addi %krb, %kcols : tensor<16x64xi32>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<16x64x!tile.ptr<f16>>
  %yp = tile.addptr %ys, %ko : tensor<16x64x!tile.ptr<f16>>, tensor<16x64xi32>
  %k = tile.load %yp : tensor<16x64x!tile.ptr<f16>>
  %f = tile.splat %first : i32 -> tensor<64x1xi32>
  %t = arith.addi %f, %rows : tensor<64x1xi32>
  %tb = tile.broadcast %t : tensor<64x1xi32> -> tensor<64x64xi32>
  %sum = scf.for %n = %begin to %end step %step iter_args(%old = %zero) -> (tensor<64x64xf32>) : i32 {
    %s = tile.dot %q, %k, %zero ieee : tensor<64x16xf16>, tensor<16x64xf16> -> tensor<64x64xf32>
    %ns = tile.splat %n : i32 -> tensor<64x64xi32>
    %pos = arith.addi %ns, %colsb : tensor<64x64xi32>
    %keep = arith.cmpi sle, %pos, %tb : tensor<64x64xi32>
    %m = arith.select %keep, %s, %none : tensor<64x64xi1>, tensor<64x64xf32>
    %next = arith.addf %old, %RESULT : tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %or = arith.muli %rows, %c64 : tensor<64x1xi32>
  %orb = tile.broadcast %or : tensor<64x1xi32> -> tensor<64x64xi32>
  %oo = arith.addi %orb, %colsb : tensor<64x64xi32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %oo : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
)";
  const std::string mark = "%RESULT";
  text.replace(text.find(mark), mark.size(), masked ? "%m" : "%s");
  return GpuKernel(text);
}

struct Data {
  std::vector<uint16_t> x = std::vector<uint16_t>(64 * 16);
  std::vector<uint16_t> y = std::vector<uint16_t>(16 * 64);
  std::vector<float> product = std::vector<float>(64 * 64);
  Data() {
    const uint16_t numbers[] = {0, 0x3C00, 0x4000, 0x4200}; // 0, 1, 2, 3
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = numbers[i * 7 % 4], y[i] = numbers[(i * 5 + i / 64) % 4];
    for (size_t i = 0; i < 64; ++i)
      for (size_t j = 0; j < 64; ++j)
        for (size_t k = 0; k < 16; ++k)
          product[i * 64 + j] +=
              float((i * 16 + k) * 7 % 4) * float(((k * 64 + j) * 5 + k) % 4);
  }
};

int32_t wrapped(int32_t a, int32_t b) {
  return int32_t(uint32_t(a) + uint32_t(b));
}

TEST(GuardMasks, EveryIterationMasksWhatItMust) {
  GpuKernel kernel = kernelOf(true);
  EXPECT_NE(kernel.layoutText.find("scf.if"), std::string::npos)
      << kernel.layoutText;
  Data data;
  struct Case {
    int32_t first, begin, end;
  };
  for (const Case &c :
       {Case{1000, 0, 256}, Case{127, 0, 256}, Case{126, 0, 256},
        Case{64, 0, 200}, Case{-5000, 0, 192}, Case{0, 64, 64},
        Case{-70, -192, 0}, Case{top - 63, 0, 128}, Case{top - 62, 0, 128},
        Case{top, 0, 64}, Case{top - 100, top - 300, top - 100},
        // Keys n + j pass the end of i32 in the last iteration.
        Case{100, top - 10, top}, Case{top - 80, top - 75, top},
        Case{0, top - 63, top}}) {
    std::vector<float> o(64 * 64);
    kernel.run({1}, {data.x, data.y, o, c.first, c.begin, c.end});
    for (int32_t i = 0; i < 64; ++i)
      for (int32_t j = 0; j < 64; ++j) {
        const size_t at = size_t(i * 64 + j);
        float wanted = 0;
        for (int64_t n = c.begin; n < c.end; n += 64)
          wanted += wrapped(int32_t(n), j) <= wrapped(c.first, i)
                        ? data.product[at]
                        : -1.0f;
        ASSERT_EQ(o[at], wanted) << c.first << " " << c.begin << " " << c.end
                                 << " " << i << " " << j;
      }
  }
}

// Iterations that need no mask cost a few instructions more than without one,
// not two for each of a thread's 32 elements.
TEST(GuardMasks, ARoundWithoutMaskedElementsIsCheap) {
  GpuKernel masked = kernelOf(true), bare = kernelOf(false);
  Data data;
  constexpr uint64_t iterations = 16, warps = 4;
  auto executed = [&](GpuKernel &kernel, int32_t first) {
    std::vector<float> o(64 * 64);
    return kernel
        .run({1}, {data.x, data.y, o, first, 0, int32_t(64 * iterations)})
        .counters.warpInstructions;
  };
  const uint64_t none = executed(bare, 0), open = executed(masked, 5000),
                 closed = executed(masked, -5000);
  EXPECT_LE(open, none + warps * (8 * iterations + 32));
  EXPECT_GE(closed, open + warps * 2 * 32 * iterations);
}

} // namespace
