// tests/unit/codegen/gpu/ContractionTest.cpp - where products are rounded.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include "llvm/ADT/APFloat.h"
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace tessera;

namespace {

std::string substituted(std::string text, const std::string &mark,
                        const std::string &with) {
  for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos;
       at += with.size())
    text.replace(at, mark.size(), with);
  return text;
}

size_t occurrences(const std::string &text, const std::string &part) {
  size_t result = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++result;
  return result;
}

// o = x * y + z, x * y - z, z - x * y: 256 elements each.
const char *const productSums = R"(
func.func @k(%x: !tile.ptr<T>, %y: !tile.ptr<T>, %z: !tile.ptr<T>, %o: !tile.ptr<T>) {
  %i = tile.range 0, 256 : tensor<256xi32>
  %size = arith.constant dense<256> : tensor<256xi32>
  %i1 = arith.addi %i, %size : tensor<256xi32>
  %i2 = arith.addi %i1, %size : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<T> -> tensor<256x!tile.ptr<T>>
  %xp = tile.addptr %xs, %i : tensor<256x!tile.ptr<T>>, tensor<256xi32>
  %xv = tile.load %xp : tensor<256x!tile.ptr<T>>
  %ys = tile.splat %y : !tile.ptr<T> -> tensor<256x!tile.ptr<T>>
  %yp = tile.addptr %ys, %i : tensor<256x!tile.ptr<T>>, tensor<256xi32>
  %yv = tile.load %yp : tensor<256x!tile.ptr<T>>
  %zs = tile.splat %z : !tile.ptr<T> -> tensor<256x!tile.ptr<T>>
  %zp = tile.addptr %zs, %i : tensor<256x!tile.ptr<T>>, tensor<256xi32>
  %zv = tile.load %zp : tensor<256x!tile.ptr<T>>
  %os = tile.splat %o : !tile.ptr<T> -> tensor<256x!tile.ptr<T>>
  %o0 = tile.addptr %os, %i : tensor<256x!tile.ptr<T>>, tensor<256xi32>
  %o1 = tile.addptr %os, %i1 : tensor<256x!tile.ptr<T>>, tensor<256xi32>
  %o2 = tile.addptr %os, %i2 : tensor<256x!tile.ptr<T>>, tensor<256xi32>
BODY
  tile.store %o0, %a : tensor<256x!tile.ptr<T>>, tensor<256xT>
  tile.store %o1, %b : tensor<256x!tile.ptr<T>>, tensor<256xT>
  tile.store %o2, %c : tensor<256x!tile.ptr<T>>, tensor<256xT>
  return
}
)";

const char *const directBody = R"(
  %p = arith.mulf %xv, %yv : tensor<256xT>
  %a = arith.addf %p, %zv : tensor<256xT>
  %b = arith.subf %p, %zv : tensor<256xT>
  %c = arith.subf %zv, %p : tensor<256xT>
)";

// The same, with each operand widened and each result narrowed by the
// kernel.
const char *const widenedBody = R"(
  %xw = arith.extf %xv : tensor<256xT> to tensor<256xf32>
  %yw = arith.extf %yv : tensor<256xT> to tensor<256xf32>
  %zw = arith.extf %zv : tensor<256xT> to tensor<256xf32>
  %pw = arith.mulf %xw, %yw : tensor<256xf32>
  %pn = arith.truncf %pw : tensor<256xf32> to tensor<256xT>
  %p = arith.extf %pn : tensor<256xT> to tensor<256xf32>
  %aw = arith.addf %p, %zw : tensor<256xf32>
  %bw = arith.subf %p, %zw : tensor<256xf32>
  %cw = arith.subf %zw, %p : tensor<256xf32>
  %a = arith.truncf %aw : tensor<256xf32> to tensor<256xT>
  %b = arith.truncf %bw : tensor<256xf32> to tensor<256xT>
  %c = arith.truncf %cw : tensor<256xf32> to tensor<256xT>
)";

// Each operation is rounded to `Word`'s type: compares all bits with APFloat.
template <typename Word>
void expectRoundedTwice(const std::string &type,
                        const llvm::fltSemantics &semantics,
                        const std::string &body, const std::string &target) {
  GpuKernelOptions how;
  how.target = target;
  GpuKernel kernel(
      substituted(substituted(productSums, "BODY", body), "T", type), how);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const auto number = [&] {
    llvm::APFloat value(normal(random));
    bool lost = false;
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
    return value;
  };
  const auto bits = [](const llvm::APFloat &value) {
    return Word(value.bitcastToAPInt().getZExtValue());
  };
  std::vector<Word> x, y, z, o(768), wanted(768);
  for (size_t i = 0; i < 256; ++i) {
    const llvm::APFloat a = number(), b = number(), c = number();
    x.push_back(bits(a)), y.push_back(bits(b)), z.push_back(bits(c));
    const llvm::APFloat product = a * b;
    wanted[i] = bits(product + c);
    wanted[256 + i] = bits(product - c);
    wanted[512 + i] = bits(c - product);
  }
  kernel.run({1}, {x, y, z, o});
  EXPECT_EQ(o, wanted) << type << " " << target << body << kernel.ptx;
}

TEST(GpuContraction, NarrowAndWideTypesRoundEachProduct) {
  for (const char *target : {"sm_80", "sm_90"}) {
    for (const char *body : {directBody, widenedBody}) {
      expectRoundedTwice<uint16_t>("bf16", llvm::APFloat::BFloat(), body,
                                   target);
      expectRoundedTwice<uint16_t>("f16", llvm::APFloat::IEEEhalf(), body,
                                   target);
    }
    expectRoundedTwice<uint64_t>("f64", llvm::APFloat::IEEEdouble(), directBody,
                                 target);
  }
}

// f32 alone may be fused, and is.
TEST(GpuContraction, SinglesAreFused) {
  GpuKernel kernel(
      substituted(substituted(productSums, "BODY", directBody), "T", "f32"));
  EXPECT_NE(kernel.ptx.find("fma.rn.f32"), std::string::npos) << kernel.ptx;
}

// o[i][j] is the dot's element where x = (64 i + j) s + (64 i + j) t is at
// least 0, else -1; m[i][j] is 1 where it is. The product with s is stored,
// too: in the layout of the stores it has more uses than in that of the dot.
const char *const twoLayoutsKernel = R"(
func.func @k(%q: !tile.ptr<f16>, %o: !tile.ptr<f32>, %m: !tile.ptr<i32>, %w: !tile.ptr<f32>, %s: f32, %t: f32) {
  %i = tile.range 0, 64 : tensor<64xi32>
  %rows = tile.expand_dims %i, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %cols = tile.expand_dims %i, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %ro = arith.muli %rows, %c64 : tensor<64x1xi32>
  %rb = tile.broadcast %ro : tensor<64x1xi32> -> tensor<64x64xi32>
  %cb = tile.broadcast %cols : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %rb, %cb : tensor<64x64xi32>
  %qs = tile.splat %q : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %qp = tile.addptr %qs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %qv = tile.load %qp : tensor<64x64x!tile.ptr<f16>>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<-1.0> : tensor<64x64xf32>
  %d = tile.dot %qv, %qv, %zero ieee : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %f = arith.sitofp %at : tensor<64x64xi32> to tensor<64x64xf32>
  %ss = tile.splat %s : f32 -> tensor<64x64xf32>
  %ts = tile.splat %t : f32 -> tensor<64x64xf32>
  %p = arith.mulf %f, %ss : tensor<64x64xf32>
  %r = arith.mulf %f, %ts : tensor<64x64xf32>
  %x = arith.addf %p, %r : tensor<64x64xf32>
  %keep = arith.cmpf oge, %x, %zero : tensor<64x64xf32>
  %v = arith.select %keep, %d, %none : tensor<64x64xi1>, tensor<64x64xf32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %at : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %v : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  %number = arith.extui %keep : tensor<64x64xi1> to tensor<64x64xi32>
  %ms = tile.splat %m : !tile.ptr<i32> -> tensor<64x64x!tile.ptr<i32>>
  %mp = tile.addptr %ms, %at : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  tile.store %mp, %number : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  %ws = tile.splat %w : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %wp = tile.addptr %ws, %at : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %wp, %p : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
)";

TEST(GpuContraction, AMaskIsTheSameInTwoLayouts) {
  GpuKernel kernel(twoLayoutsKernel);
  std::vector<uint16_t> q(64 * 64, 0x3C00); // 1
  std::vector<float> o(64 * 64), w(64 * 64);
  std::vector<int32_t> m(64 * 64);
  // The sum is 0 where both products are rounded, else one of them is off.
  kernel.run({1}, {q, o, m, w, 0.1f, -0.1f});
  for (size_t i = 0; i < o.size(); ++i)
    ASSERT_EQ(o[i], m[i] ? 64.0f : -1.0f) << i << "\n" << kernel.layoutText;
}

// Rows of k are loaded where f s + n t >= 0 and counted where it is. The mask
// of the first iterations is computed before the loop, next to f s.
const char *const maskAhead = R"(
func.func @k(%q: !tile.ptr<f16>, %y: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %f: !tile.ptr<f32>, %s: f32, %t: f32, %o: !tile.ptr<f32>, %counts: !tile.ptr<f32>, %end: i32) {
  %one = arith.constant 1 : i32
  %begin = arith.constant 1 : i32
  %i = tile.range 0, 64 : tensor<64xi32>
  %k = tile.range 0, 16 : tensor<16xi32>
  %rows = tile.expand_dims %i, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %cols = tile.expand_dims %i, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %kc = tile.expand_dims %k, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %kr = tile.expand_dims %k, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %c16 = arith.constant dense<16> : tensor<64x1xi32>
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %k64 = arith.constant dense<64> : tensor<16x1xi32>
  %qr = arith.muli %rows, %c16 : tensor<64x1xi32>
  %qrb = tile.broadcast %qr : tensor<64x1xi32> -> tensor<64x16xi32>
  %kcb = tile.broadcast %kc : tensor<1x16xi32> -> tensor<64x16xi32>
  %qo = arith.addi %qrb, %kcb : tensor<64x16xi32>
  %qs = tile.splat %q : !tile.ptr<f16> -> tensor<64x16x!tile.ptr<f16>>
  %qp = tile.addptr %qs, %qo : tensor<64x16x!tile.ptr<f16>>, tensor<64x16xi32>
  %qv = tile.load %qp : tensor<64x16x!tile.ptr<f16>>
  %kro = arith.muli %kr, %k64 : tensor<16x1xi32>
  %krb = tile.broadcast %kro : tensor<16x1xi32> -> tensor<16x64xi32>
  %kcols = tile.broadcast %cols : tensor<1x64xi32> -> tensor<16x64xi32>
  %ko = arith.addi %krb, %kcols : tensor<16x64xi32>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<16x64x!tile.ptr<f16>>
  %yp = tile.addptr %ys, %ko : tensor<16x64x!tile.ptr<f16>>, tensor<16x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ones = arith.constant dense<1.0> : tensor<16x1xf32>
  %none = arith.constant dense<0.0> : tensor<16x1xf32>
  %zh = arith.constant dense<0.0> : tensor<16x64xf16>
  %fs = tile.splat %f : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %fp = tile.addptr %fs, %kr : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %fv = tile.load %fp : tensor<16x1x!tile.ptr<f32>>
  %ss = tile.splat %s : f32 -> tensor<16x1xf32>
  %p = arith.mulf %fv, %ss : tensor<16x1xf32>
  %r, %n2 = scf.for %n = %begin to %end step %one iter_args(%sum = %zero, %count = %none) -> (tensor<64x64xf32>, tensor<16x1xf32>) : i32 {
    %nf = arith.sitofp %n : i32 to f32
    %c = arith.mulf %nf, %t : f32
    %cs = tile.splat %c : f32 -> tensor<16x1xf32>
    %x = arith.addf %p, %cs : tensor<16x1xf32>
    %keep = arith.cmpf oge, %x, %none : tensor<16x1xf32>
    %keepk = tile.broadcast %keep : tensor<16x1xi1> -> tensor<16x64xi1>
    %kv = tile.load %yp mask %keepk other %zh : tensor<16x64x!tile.ptr<f16>>
    %d = tile.dot %qv, %kv, %sum ieee : tensor<64x16xf16>, tensor<16x64xf16> -> tensor<64x64xf32>
    %more = arith.select %keep, %ones, %none : tensor<16x1xi1>, tensor<16x1xf32>
    %next = arith.addf %count, %more : tensor<16x1xf32>
    scf.yield %d, %next : tensor<64x64xf32>, tensor<16x1xf32>
  }
  %or = arith.muli %rows, %c64 : tensor<64x1xi32>
  %orb = tile.broadcast %or : tensor<64x1xi32> -> tensor<64x64xi32>
  %ocb = tile.broadcast %cols : tensor<1x64xi32> -> tensor<64x64xi32>
  %oo = arith.addi %orb, %ocb : tensor<64x64xi32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %oo : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %r : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  %ns = tile.splat %counts : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %np = tile.addptr %ns, %kr : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  tile.store %np, %n2 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xf32>
  return
}
)";

TEST(GpuContraction, AMaskOfACopyAheadIsTheLoopsOwn) {
  GpuKernel kernel(maskAhead);
  ASSERT_NE(kernel.layoutText.find("async_copy"), std::string::npos)
      << kernel.layoutText;
  // Neither LLVM nor ptxas may fuse one of the three sums alone.
  EXPECT_EQ(kernel.ptx.find("fma.rn.f32"), std::string::npos) << kernel.ptx;
  EXPECT_EQ(occurrences(kernel.ptx, "add.rn.f32"), 3u) << kernel.ptx;
  const float s = 0.1f;
  // Rounded, f s + t is 0 in the last row; fused it is just below.
  float last = 1000;
  while (std::fma(last, s, -(last * s)) >= 0)
    ++last;
  std::vector<float> f;
  for (int row = 15; row >= 0; --row)
    f.push_back(last - 3 * float(row));
  std::vector<uint16_t> q(64 * 16, 0x3C00), k(16 * 64, 0x3C00); // 1
  std::vector<float> o(64 * 64), counts(16);
  kernel.run({1}, {q, k, f, s, -(last * s), o, counts, 4});
  const float rows = std::accumulate(counts.begin(), counts.end(), 0.0f);
  EXPECT_LE(rows, 1); // The last one, in the first iteration.
  for (size_t i = 0; i < o.size(); ++i)
    ASSERT_EQ(o[i], rows) << i << "\n" << kernel.layoutText;
}

// Each of 4 rows of x * y is added up by a function of the kernel's author;
// every element of a row is given the row's sum.
const char *const ownSumKernel = R"(
func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>) {
  %i = tile.range 0, 4 : tensor<4xi32>
  %j = tile.range 0, 64 : tensor<64xi32>
  %rows = tile.expand_dims %i, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %cols = tile.expand_dims %j, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %c64 = arith.constant dense<64> : tensor<4x1xi32>
  %ro = arith.muli %rows, %c64 : tensor<4x1xi32>
  %rb = tile.broadcast %ro : tensor<4x1xi32> -> tensor<4x64xi32>
  %cb = tile.broadcast %cols : tensor<1x64xi32> -> tensor<4x64xi32>
  %at = arith.addi %rb, %cb : tensor<4x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<4x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %at : tensor<4x64x!tile.ptr<f32>>, tensor<4x64xi32>
  %v = tile.load %xp : tensor<4x64x!tile.ptr<f32>>
  %p = arith.mulf %v, %v : tensor<4x64xf32>
  %sum = tile.reduce_by %p axis 1 : tensor<4x64xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %s1 = tile.expand_dims %sum, 1 : tensor<4xf32> -> tensor<4x1xf32>
  %s2 = tile.broadcast %s1 : tensor<4x1xf32> -> tensor<4x64xf32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<4x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %at : tensor<4x64x!tile.ptr<f32>>, tensor<4x64xi32>
  tile.store %op, %s2 : tensor<4x64x!tile.ptr<f32>>, tensor<4x64xf32>
  return
}
)";

TEST(GpuContraction, AllElementsGetTheSameSum) {
  for (int warps : {1, 4}) {
    GpuKernelOptions how;
    how.numWarps = warps;
    GpuKernel kernel(ownSumKernel, how);
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::vector<float> x(4 * 64), o(4 * 64);
    for (int trial = 0; trial < 16; ++trial) {
      for (float &each : x)
        each = normal(random);
      kernel.run({1}, {x, o});
      for (size_t i = 0; i < o.size(); ++i)
        ASSERT_EQ(o[i], o[i / 64 * 64]) << i << "\n" << kernel.ptx;
    }
  }
}

} // namespace
