// tests/unit/codegen/gpu/SectorsTest.cpp - 32-byte sectors that layouts touch,
// counted by the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

// Numbers from the start of a sector on.
struct alignas(32) Sector {
  float values[8];
};
class Numbers : public std::vector<Sector> {
public:
  template <typename Value>
  Numbers(size_t count, Value value) : vector(count / 8) {
    for (size_t i = 0; i < count; ++i)
      (*this)(i) = value(i);
  }
  float &operator()(size_t i) { return data()[i / 8].values[i % 8]; }
};
GpuArg argument(Numbers &numbers) {
  return static_cast<std::vector<Sector> &>(numbers);
}

// x has pairs, y one number for each: y would be loaded 16 bytes a lane, and
// the lanes of a load of x be 32 bytes apart.
TEST(SectorsTest, PairsNextToSingles) {
  GpuKernel kernel(R"(
    func.func @k(%X: !tile.ptr<f32> {tile.divisibility = 16 : i32},
                 %Y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) {
      %r = tile.range 0, 1024 : tensor<1024xi32>
      %two = arith.constant dense<2> : tensor<1024xi32>
      %rr = arith.muli %r, %two : tensor<1024xi32>
      %xs = tile.splat %X : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %ys = tile.splat %Y : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %xp = tile.addptr %xs, %rr : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %yp = tile.addptr %ys, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %x = tile.load %xp : tensor<1024x!tile.ptr<f32>>
      %y = tile.load %yp : tensor<1024x!tile.ptr<f32>>
      %z = arith.addf %x, %y : tensor<1024xf32>
      tile.store %xp, %z : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
      return
    })");
  Numbers x(2048, [](size_t i) { return float(i); });
  Numbers y(1024, [](size_t i) { return float(3 * i); });
  sim::Report report = kernel.run({1}, {argument(x), argument(y)});
  for (size_t i = 0; i < 2048; ++i)
    ASSERT_EQ(x(i), float(i) + (i % 2 ? 0.0f : float(3 * (i / 2)))) << i;
  // Each sector of x twice, of y once: 8192 and 4096 bytes.
  EXPECT_EQ(report.counters.globalSectors, 2u * 256 + 128);
}

// Rows of 80 floats whose distance is not known to be aligned: one element at
// a time. What is stored could take four, but then would each load ask for
// every sector of its row again.
TEST(SectorsTest, UnalignedRowsNextToAlignedOnes) {
  GpuKernel kernel(R"(
    func.func @k(%X: !tile.ptr<f32> {tile.divisibility = 16 : i32},
                 %Y: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %sx: i32) {
      %r = tile.range 0, 16 : tensor<16xi32>
      %c = tile.range 0, 128 : tensor<128xi32>
      %s = tile.splat %sx : i32 -> tensor<16xi32>
      %d = arith.constant dense<128> : tensor<16xi32>
      %rx = arith.muli %r, %s : tensor<16xi32>
      %ry = arith.muli %r, %d : tensor<16xi32>
      %ax = tile.expand_dims %rx, 1 : tensor<16xi32> -> tensor<16x1xi32>
      %ay = tile.expand_dims %ry, 1 : tensor<16xi32> -> tensor<16x1xi32>
      %b = tile.expand_dims %c, 0 : tensor<128xi32> -> tensor<1x128xi32>
      %abx = tile.broadcast %ax : tensor<16x1xi32> -> tensor<16x128xi32>
      %aby = tile.broadcast %ay : tensor<16x1xi32> -> tensor<16x128xi32>
      %bb = tile.broadcast %b : tensor<1x128xi32> -> tensor<16x128xi32>
      %ox = arith.addi %abx, %bb : tensor<16x128xi32>
      %oy = arith.addi %aby, %bb : tensor<16x128xi32>
      %xs = tile.splat %X : !tile.ptr<f32> -> tensor<16x128x!tile.ptr<f32>>
      %ys = tile.splat %Y : !tile.ptr<f32> -> tensor<16x128x!tile.ptr<f32>>
      %xp = tile.addptr %xs, %ox : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xi32>
      %yp = tile.addptr %ys, %oy : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xi32>
      %x = tile.load %xp : tensor<16x128x!tile.ptr<f32>>
      tile.store %yp, %x : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xf32>
      return
    })");
  Numbers x(16 * 128, [](size_t i) { return float(i); });
  Numbers y(16 * 128, [](size_t) { return -1.0f; });
  sim::Report report =
      kernel.run({1}, {argument(x), argument(y), int32_t(128)});
  for (size_t i = 0; i < 16 * 128; ++i)
    ASSERT_EQ(y(i), float(i)) << i;
  EXPECT_EQ(report.counters.globalSectors, 2u * 16 * 128 * 4 / 32);
}

// A weight for all rows and a sum of each: all warps hold the weight, each its
// rows. It is loaded once, and the sums are stored by one request.
TEST(SectorsTest, WeightsAndSumsOfRows) {
  GpuKernel kernel(R"(
    func.func @k(%X: !tile.ptr<f32> {tile.divisibility = 16 : i32},
                 %W: !tile.ptr<f32> {tile.divisibility = 16 : i32},
                 %S: !tile.ptr<f32> {tile.divisibility = 16 : i32}) {
      %r = tile.range 0, 8 : tensor<8xi32>
      %c = tile.range 0, 128 : tensor<128xi32>
      %d = arith.constant dense<128> : tensor<8xi32>
      %rd = arith.muli %r, %d : tensor<8xi32>
      %a = tile.expand_dims %rd, 1 : tensor<8xi32> -> tensor<8x1xi32>
      %b = tile.expand_dims %c, 0 : tensor<128xi32> -> tensor<1x128xi32>
      %ab = tile.broadcast %a : tensor<8x1xi32> -> tensor<8x128xi32>
      %bb = tile.broadcast %b : tensor<1x128xi32> -> tensor<8x128xi32>
      %o = arith.addi %ab, %bb : tensor<8x128xi32>
      %xs = tile.splat %X : !tile.ptr<f32> -> tensor<8x128x!tile.ptr<f32>>
      %xp = tile.addptr %xs, %o : tensor<8x128x!tile.ptr<f32>>, tensor<8x128xi32>
      %x = tile.load %xp : tensor<8x128x!tile.ptr<f32>>
      %ws = tile.splat %W : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
      %wp = tile.addptr %ws, %c : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
      %w = tile.load %wp : tensor<128x!tile.ptr<f32>>
      %we = tile.expand_dims %w, 0 : tensor<128xf32> -> tensor<1x128xf32>
      %wb = tile.broadcast %we : tensor<1x128xf32> -> tensor<8x128xf32>
      %y = arith.mulf %x, %wb : tensor<8x128xf32>
      %s = tile.reduce sum %y, 1 : tensor<8x128xf32> -> tensor<8xf32>
      %ss = tile.splat %S : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
      %sp = tile.addptr %ss, %r : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
      tile.store %sp, %s : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
      return
    })");
  Numbers x(8 * 128, [](size_t i) { return float(i % 7); });
  Numbers w(128, [](size_t i) { return float(i % 5); });
  Numbers s(8, [](size_t) { return -1.0f; });
  sim::Report report = kernel.run({1}, {argument(x), argument(w), argument(s)});
  for (size_t row = 0; row < 8; ++row) {
    float sum = 0;
    for (size_t i = 0; i < 128; ++i)
      sum += x(128 * row + i) * w(i);
    EXPECT_EQ(s(row), sum) << row;
  }
  EXPECT_EQ(report.counters.globalSectors, 8u * 16 + 16 + 1);
}

} // namespace
