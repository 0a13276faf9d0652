// tests/unit/codegen/gpu/PromoteOperandsTest.cpp - tiles of several dots.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/LayoutText.h"

#include <gtest/gtest.h>

#include <random>

using namespace tessera;

namespace {

// o = sum of q_i k and u = sum of q_i^T v over a loop; SCALE is inserted
// between the load and its users.
std::string kernelText(const std::string &scale) {
  return replaced(R"(
func.func @both(%q: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %v: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %u: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
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
  %vs = tile.splat %v : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
  %vp = tile.addptr %vs, %off : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
  %vt = tile.load %vp : tensor<32x32x!tile.ptr<f16>>
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z, %y = %z) -> (tensor<32x32xf32>, tensor<32x32xf32>) : i32 {
    %d = arith.muli %i, %size : i32
    %qb = tile.addptr %q, %d : !tile.ptr<f16>, i32
    %qs = tile.splat %qb : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
    %qp = tile.addptr %qs, %off : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
    %ql = tile.load %qp : tensor<32x32x!tile.ptr<f16>>
    SCALE
    %x1 = tile.dot %qt, %kt, %x tf32 : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    %tt = tile.trans %qt [1, 0] : tensor<32x32xf16> -> tensor<32x32xf16>
    %y1 = tile.dot %tt, %vt, %y tf32 : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %x1, %y1 : tensor<32x32xf32>, tensor<32x32xf32>
  }
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %op = tile.addptr %os, %off : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  tile.store %op, %s#0 : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  %us = tile.splat %u : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %up = tile.addptr %us, %off : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  tile.store %up, %s#1 : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}
)",
                  "SCALE", scale);
}

// Without stages a tile that only dots read is copied past the registers; one
// that is computed with is stored. Either way each dot reads it from there.
TEST(GpuPromoteOperands, TilesOfSeveralDots) {
  const std::string plain = replaced(kernelText(""), "%qt", "%ql"),
                    scaled = kernelText(
                        "%qt = arith.addf %ql, %ql : tensor<32x32xf16>");
  std::mt19937 engine(2);
  auto fill = [&](size_t n) {
    std::vector<_Float16> list;
    for (size_t i = 0; i < n; ++i)
      list.push_back(static_cast<_Float16>(0.25 * (int(engine() % 9) - 4)));
    return list;
  };
  const size_t iterations = 3, n = 32;
  std::vector<_Float16> q = fill(iterations * n * n), k = fill(n * n),
                        v = fill(n * n);
  for (const std::string &text : {plain, scaled}) {
    const bool copies = text == plain;
    const double factor = copies ? 1 : 2;
    GpuKernelOptions how;
    how.numStages = 1;
    GpuKernel kernel(text, how);
    EXPECT_EQ(kernel.ptx.find("cp.async") != std::string::npos, copies)
        << kernel.layoutText;
    EXPECT_NE(kernel.ptx.find("ldmatrix"), std::string::npos);
    std::vector<float> o(n * n), u(n * n);
    kernel.run({1}, {q, k, v, o, u, int32_t(iterations)});
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        double x = 0, y = 0;
        for (size_t iteration = 0; iteration < iterations; ++iteration)
          for (size_t p = 0; p < n; ++p) {
            x += factor * double(q[(iteration * n + i) * n + p]) *
                 double(k[p * n + j]);
            y += factor * double(q[(iteration * n + p) * n + i]) *
                 double(v[p * n + j]);
          }
        ASSERT_EQ(o[i * n + j], float(x)) << i << " " << j;
        ASSERT_EQ(u[i * n + j], float(y)) << i << " " << j;
      }
  }
}

// y += p^T q_i with p = q_i k - l_i, 32 bits an element: what dk and dv of
// attention are. p^T is the operand as the first dot leaves it; q is read along
// its rows by ldmatrix and along its columns two elements at a time, without
// conflicts. Each thread loads one element of l, not the 16 that it needs.
std::string chainText(size_t width) {
  std::string text = R"(
func.func @chain(%q: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %k: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %l: !tile.ptr<f32>, %u: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %size = arith.constant $SIZE : i32
  %each = arith.constant 64 : i32
  %r = tile.range 0, 64 : tensor<64xi32>
  %rd = tile.range 0, $D : tensor<$Dxi32>
  %row = tile.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %col = tile.expand_dims %rd, 0 : tensor<$Dxi32> -> tensor<1x$Dxi32>
  %c64 = arith.constant dense<$D> : tensor<64x1xi32>
  %rm = arith.muli %row, %c64 : tensor<64x1xi32>
  %rb = tile.broadcast %rm : tensor<64x1xi32> -> tensor<64x$Dxi32>
  %cb = tile.broadcast %col : tensor<1x$Dxi32> -> tensor<64x$Dxi32>
  %off = arith.addi %rb, %cb : tensor<64x$Dxi32>
  %ks = tile.splat %k : !tile.ptr<f32> -> tensor<64x$Dx!tile.ptr<f32>>
  %kp = tile.addptr %ks, %off : tensor<64x$Dx!tile.ptr<f32>>, tensor<64x$Dxi32>
  %kl = tile.load %kp : tensor<64x$Dx!tile.ptr<f32>>
  %kt = tile.trans %kl [1, 0] : tensor<64x$Dxf32> -> tensor<$Dx64xf32>
  %z = arith.constant dense<0.0> : tensor<64x$Dxf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%y = %z) -> (tensor<64x$Dxf32>) : i32 {
    %d = arith.muli %i, %size : i32
    %qb = tile.addptr %q, %d : !tile.ptr<f32>, i32
    %qs = tile.splat %qb : !tile.ptr<f32> -> tensor<64x$Dx!tile.ptr<f32>>
    %qp = tile.addptr %qs, %off : tensor<64x$Dx!tile.ptr<f32>>, tensor<64x$Dxi32>
    %qt = tile.load %qp : tensor<64x$Dx!tile.ptr<f32>>
    %x = tile.dot %qt, %kt, %none tf32 : tensor<64x$Dxf32>, tensor<$Dx64xf32> -> tensor<64x64xf32>
    %e = arith.muli %i, %each : i32
    %lb = tile.addptr %l, %e : !tile.ptr<f32>, i32
    %ls = tile.splat %lb : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %lp = tile.addptr %ls, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %li = tile.load %lp : tensor<64x!tile.ptr<f32>>
    %lc = tile.expand_dims %li, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %ll = tile.broadcast %lc : tensor<64x1xf32> -> tensor<64x64xf32>
    %p = arith.subf %x, %ll : tensor<64x64xf32>
    %pt = tile.trans %p [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %y1 = tile.dot %pt, %qt, %y tf32 : tensor<64x64xf32>, tensor<64x$Dxf32> -> tensor<64x$Dxf32>
    scf.yield %y1 : tensor<64x$Dxf32>
  }
  %us = tile.splat %u : !tile.ptr<f32> -> tensor<64x$Dx!tile.ptr<f32>>
  %up = tile.addptr %us, %off : tensor<64x$Dx!tile.ptr<f32>>, tensor<64x$Dxi32>
  tile.store %up, %s : tensor<64x$Dx!tile.ptr<f32>>, tensor<64x$Dxf32>
  return
}
)";
  text = replaced(text, "$SIZE", std::to_string(64 * width));
  return replaced(text, "$D", std::to_string(width));
}

struct Chain {
  sim::Report report;
  std::string ptx;
  size_t count(const std::string &part) const {
    size_t found = 0;
    for (size_t at = 0; (at = ptx.find(part, at)) != std::string::npos; ++at)
      ++found;
    return found;
  }
};

Chain runChain(size_t width) {
  const size_t iterations = 2, n = 64;
  std::mt19937 engine(3);
  auto fill = [&](size_t count) {
    std::vector<float> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back(float(int(engine() % 3) - 1));
    return list;
  };
  std::vector<float> q = fill(iterations * n * width), k = fill(n * width),
                     l = fill(iterations * n), u(n * width);
  GpuKernelOptions how;
  how.numStages = 1;
  GpuKernel kernel(chainText(width), how);
  Chain chain;
  chain.report = kernel.run({1}, {q, k, l, u, int32_t(iterations)});
  std::vector<double> sum(n * width);
  for (size_t iteration = 0; iteration < iterations; ++iteration)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        const float *row = &q[(iteration * n + i) * width];
        double p = -double(l[iteration * n + i]);
        for (size_t x = 0; x < width; ++x)
          p += double(row[x]) * double(k[j * width + x]);
        for (size_t x = 0; x < width; ++x)
          sum[j * width + x] += p * double(row[x]);
      }
  for (size_t i = 0; i < n * width; ++i)
    if (u[i] != float(sum[i])) {
      ADD_FAILURE() << "element " << i << ": " << u[i] << ", not " << sum[i];
      break;
    }
  chain.ptx = kernel.ptx;
  return chain;
}

TEST(GpuPromoteOperands, TransposedChainOf32Bits) {
  const Chain chain = runChain(64);
  EXPECT_EQ(chain.report.counters.sharedConflicts, 0u);
  // A warp has 16 rows of y: 16 x 64 of p, 64 x 64 of q twice; 16 x 64 of k
  // before the loop.
  EXPECT_EQ(chain.count("mma.sync.aligned.m16n8k8"), 128u);
  EXPECT_EQ(chain.count("ldmatrix.sync.aligned.m8n8.x4"), 32u + 8u);
  EXPECT_EQ(chain.count("ld.shared.v2"), 64u) << chain.ptx;
  EXPECT_EQ(chain.count("ld.shared.b32"), 0u);
  EXPECT_EQ(chain.count("cp.async.cg"), 8u);
  // l: one load and one store, 4 of its 16 elements at once; y at the end.
  EXPECT_EQ(chain.count("ld.global.b32"), 1u);
  EXPECT_EQ(chain.count("st.shared.b32"), 1u);
  EXPECT_EQ(chain.count("ld.shared.v4"), 4u + 8u);
  EXPECT_EQ(chain.count("shfl"), 0u);
  EXPECT_EQ(chain.count("-2147483648"), 0u) << "a sign changed to subtract";
}

// Two rows or four in 128 bytes: no plain swizzle suits the copy and both
// dots.
TEST(GpuPromoteOperands, NarrowTilesWithoutConflicts) {
  for (size_t width : {16, 32}) {
    const Chain chain = runChain(width);
    EXPECT_EQ(chain.count("cp.async.cg"), width / 8);
    EXPECT_EQ(chain.report.counters.sharedConflicts, 0u) << width;
  }
}

} // namespace
