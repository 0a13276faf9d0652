// tests/unit/codegen/DotTest.cpp - matrix products on cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TileKernel.h"

#include <cmath>
#include <tuple>

using namespace tessera;

namespace {

// Pointers to a row-major matrix [R, C] at %NAME, as %NAMEp.
std::string matrix(const std::string &name, int rows, int columns,
                   const std::string &type) {
  return fill(R"(
  %$Xr = tile.range 0, $R : tensor<$Rxi32>
  %$Xc = tile.range 0, $C : tensor<$Cxi32>
  %$Xr1 = tile.expand_dims %$Xr, 1 : tensor<$Rxi32> -> tensor<$Rx1xi32>
  %$Xc0 = tile.expand_dims %$Xc, 0 : tensor<$Cxi32> -> tensor<1x$Cxi32>
  %$Xk = arith.constant dense<$C> : tensor<$Rx1xi32>
  %$Xm = arith.muli %$Xr1, %$Xk : tensor<$Rx1xi32>
  %$Xmb = tile.broadcast %$Xm : tensor<$Rx1xi32> -> tensor<$Rx$Cxi32>
  %$Xcb = tile.broadcast %$Xc0 : tensor<1x$Cxi32> -> tensor<$Rx$Cxi32>
  %$Xo = arith.addi %$Xmb, %$Xcb : tensor<$Rx$Cxi32>
  %$Xs = tile.splat %$X : !tile.ptr<$T> -> tensor<$Rx$Cx!tile.ptr<$T>>
  %$Xp = tile.addptr %$Xs, %$Xo : tensor<$Rx$Cx!tile.ptr<$T>>, tensor<$Rx$Cxi32>
)",
              {{"X", name},
               {"R", std::to_string(rows)},
               {"C", std::to_string(columns)},
               {"T", type}});
}

// c = a b + c with either operand stored transposed.
std::string dotKernel(int m, int n, int k, bool ta, bool tb,
                      const std::string &type, const std::string &sum) {
  std::string text =
      fill("func.func @dot(%a: !tile.ptr<$T>, %b: !tile.ptr<$T>, %c: "
           "!tile.ptr<$S>) {\n",
           {{"T", type}, {"S", sum}});
  text += matrix("a", ta ? k : m, ta ? m : k, type);
  text += matrix("b", tb ? n : k, tb ? k : n, type);
  text += matrix("c", m, n, sum);
  auto at = tensorOf({m, k}, type), bt = tensorOf({k, n}, type),
       ct = tensorOf({m, n}, sum);
  auto as = tensorOf({k, m}, type), bs = tensorOf({n, k}, type);
  text += "%al = tile.load %ap : " +
          tensorOf({ta ? k : m, ta ? m : k}, "!tile.ptr<" + type + ">") + "\n";
  text += "%bl = tile.load %bp : " +
          tensorOf({tb ? n : k, tb ? k : n}, "!tile.ptr<" + type + ">") + "\n";
  text +=
      "%cl = tile.load %cp : " + tensorOf({m, n}, "!tile.ptr<" + sum + ">") +
      "\n";
  if (ta)
    text += "%at = tile.trans %al [1, 0] : " + as + " -> " + at + "\n";
  if (tb)
    text += "%bt = tile.trans %bl [1, 0] : " + bs + " -> " + bt + "\n";
  text += std::string("%d = tile.dot ") + (ta ? "%at" : "%al") + ", " +
          (tb ? "%bt" : "%bl") + ", %cl ieee : " + at + ", " + bt + " -> " +
          ct + "\n";
  text += "tile.store %cp, %d : " + tensorOf({m, n}, "!tile.ptr<" + sum + ">") +
          ", " + ct + "\n";
  return text + "return\n}";
}

std::vector<uint16_t> bf16Numbers(uint64_t seed, int count) {
  std::vector<uint16_t> numbers;
  for (float x : Numbers(seed).vector(size_t(count)))
    numbers.push_back(toBf16(x));
  return numbers;
}

class CpuDot : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }

  void check(int m, int n, int k, bool ta, bool tb) const {
    TileKernel kernel(dotKernel(m, n, k, ta, tb, "f32", "f32"), target());
    std::vector<float> a = Numbers(1).vector(size_t(m) * k);
    std::vector<float> b = Numbers(2).vector(size_t(n) * k);
    std::vector<float> c = Numbers(3).vector(size_t(m) * n), old = c;
    kernel.run({1}, a.data(), b.data(), c.data());
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = old[i * n + j];
        for (int l = 0; l < k; ++l)
          sum += double(a[ta ? l * m + i : i * k + l]) *
                 b[tb ? j * k + l : l * n + j];
        ASSERT_NEAR(c[i * n + j], sum, 2e-7 * (k + 4))
            << m << "x" << n << "x" << k << " " << ta << tb << " at " << i
            << "," << j;
      }
  }
};

TEST_P(CpuDot, Shapes) {
  for (auto [m, n, k] : std::vector<std::tuple<int, int, int>>{{1, 1, 1},
                                                               {1, 64, 16},
                                                               {2, 16, 8},
                                                               {4, 2, 32},
                                                               {8, 128, 4},
                                                               {16, 16, 16},
                                                               {16, 64, 128},
                                                               {32, 4, 1},
                                                               {64, 64, 64},
                                                               {128, 8, 2},
                                                               {64, 1, 64},
                                                               {16, 128, 64},
                                                               {8, 256, 32}})
    check(m, n, k, false, false);
}

TEST_P(CpuDot, Transposed) {
  for (auto [m, n, k] : std::vector<std::tuple<int, int, int>>{{16, 64, 32},
                                                               {64, 16, 64},
                                                               {4, 8, 16},
                                                               {2, 2, 2},
                                                               {1, 32, 8},
                                                               {16, 128, 32}})
    for (int t = 1; t < 4; ++t)
      check(m, n, k, t & 1, t & 2);
}

// Products of bf16 are exact; the sum is off by roundings of fp32. With
// avx512bf16 the operands are read in pairs: side by side, packed, in place.
TEST_P(CpuDot, Bf16) {
  for (auto [m, n, k] : std::vector<std::tuple<int, int, int>>{{16, 32, 64},
                                                               {64, 64, 32},
                                                               {1, 16, 8},
                                                               {8, 64, 16},
                                                               {4, 4, 2},
                                                               {16, 8, 4},
                                                               {2, 2, 8},
                                                               {16, 16, 1},
                                                               {16, 1, 32},
                                                               {16, 128, 32}})
    for (int t = 0; t < 4; ++t) {
      bool ta = t & 1, tb = t & 2;
      TileKernel kernel(dotKernel(m, n, k, ta, tb, "bf16", "f32"), target());
      std::vector<uint16_t> a = bf16Numbers(1, m * k),
                            b = bf16Numbers(2, n * k);
      std::vector<float> c(size_t(m) * n, 0.5f);
      kernel.run({1}, a.data(), b.data(), c.data());
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0.5;
          for (int l = 0; l < k; ++l)
            sum += double(fromBf16(a[ta ? l * m + i : i * k + l])) *
                   fromBf16(b[tb ? j * k + l : l * n + j]);
          ASSERT_NEAR(c[i * n + j], sum, 2e-7 * (k + 4))
              << m << "x" << n << "x" << k << " " << ta << tb;
        }
    }
}

// docs/numerics.md: vdpbf16ps takes subnormal operands for zero, and rounds
// after each of its two sums; fused products of fp32 know neither.
TEST_P(CpuDot, Bf16SubnormalsCountAsZeroInPairs) {
  const int m = 4, n = 16, k = 2;
  TileKernel kernel(dotKernel(m, n, k, false, false, "bf16", "f32"), target());
  const float tiny = 0x1p-130f, large = 0x1p120f;
  std::vector<uint16_t> a, b;
  for (int i = 0; i < m; ++i)
    for (float x : {tiny, 1.0f})
      a.push_back(toBf16(x));
  for (float row : {large, 2.0f})
    b.insert(b.end(), n, toBf16(row));
  std::vector<float> c(size_t(m) * n, 0);
  kernel.run({1}, a.data(), b.data(), c.data());
  const float want = target().has("avx512bf16") ? 2.0f : 2.0f + 0x1p-10f;
  for (float sum : c)
    ASSERT_EQ(sum, want);
}

// One value is a left operand, a right one and either transposed; another is
// carried by a loop around the dot.
TEST_P(CpuDot, Bf16OperandsOfSeveralDots) {
  const int m = 16, n = 32, k = 64;
  std::string text = "func.func @k(%q: !tile.ptr<bf16>, %x: !tile.ptr<bf16>, "
                     "%o: !tile.ptr<f32>, %u: !tile.ptr<f32>) {\n";
  text += matrix("q", m, k, "bf16") + matrix("x", n, k, "bf16") +
          matrix("o", m, k, "f32") + matrix("u", n, k, "f32");
  text += R"(
  %qv = tile.load %qp : tensor<16x64x!tile.ptr<bf16>>
  %xv = tile.load %xp : tensor<32x64x!tile.ptr<bf16>>
  %xt = tile.trans %xv [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %zs = arith.constant dense<0.0> : tensor<16x32xf32>
  %zo = arith.constant dense<0.0> : tensor<16x64xf32>
  %zu = arith.constant dense<0.0> : tensor<32x64xf32>
  %half = arith.constant dense<0.5> : tensor<32x64xbf16>
  %s = tile.dot %qv, %xt, %zs ieee : tensor<16x64xbf16>, tensor<64x32xbf16> -> tensor<16x32xf32>
  %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
  %lo = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %r:2 = scf.for %i = %lo to %two step %one iter_args(%acc = %zo, %y = %xv)
      -> (tensor<16x64xf32>, tensor<32x64xbf16>) : i32 {
    %next = tile.dot %p, %y, %acc ieee : tensor<16x32xbf16>, tensor<32x64xbf16> -> tensor<16x64xf32>
    %small = arith.mulf %y, %half : tensor<32x64xbf16>
    scf.yield %next, %small : tensor<16x64xf32>, tensor<32x64xbf16>
  }
  tile.store %op, %r#0 : tensor<16x64x!tile.ptr<f32>>, tensor<16x64xf32>
  %pt = tile.trans %p [1, 0] : tensor<16x32xbf16> -> tensor<32x16xbf16>
  %v = tile.dot %pt, %qv, %zu ieee : tensor<32x16xbf16>, tensor<16x64xbf16> -> tensor<32x64xf32>
  tile.store %up, %v : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xf32>
  return
})";
  TileKernel kernel(text, target());
  std::vector<uint16_t> q = bf16Numbers(1, m * k), x = bf16Numbers(2, n * k);
  std::vector<float> o(size_t(m) * k), u(size_t(n) * k);
  kernel.run({1}, q.data(), x.data(), o.data(), u.data());
  std::vector<double> p(size_t(m) * n), wantO(o.size()), wantU(u.size());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l)
        p[i * n + j] += double(fromBf16(q[i * k + l])) * fromBf16(x[j * k + l]);
      p[i * n + j] = fromBf16(toBf16(float(p[i * n + j])));
      for (int l = 0; l < k; ++l) {
        wantO[i * k + l] += 1.5 * p[i * n + j] * fromBf16(x[j * k + l]);
        wantU[j * k + l] += p[i * n + j] * fromBf16(q[i * k + l]);
      }
    }
  // A sum next to the middle of two numbers may be rounded the other way: 2^-8
  // of one p below 8.
  for (size_t i = 0; i < o.size(); ++i)
    ASSERT_NEAR(o[i], wantO[i], 5e-2) << i;
  for (size_t i = 0; i < u.size(); ++i)
    ASSERT_NEAR(u[i], wantU[i], 5e-2) << i;
}

TEST_P(CpuDot, Int8) {
  int m = 8, n = 32, k = 32;
  TileKernel kernel(dotKernel(m, n, k, true, false, "i8", "i32"), target());
  std::vector<int8_t> a(size_t(m) * k), b(size_t(n) * k);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = int8_t(i * 37 + 11);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = int8_t(i * 91 + 5);
  std::vector<int32_t> c(size_t(m) * n, 3);
  kernel.run({1}, a.data(), b.data(), c.data());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = 3;
      for (int l = 0; l < k; ++l)
        sum += a[l * m + i] * b[l * n + j];
      ASSERT_EQ(c[i * n + j], sum);
    }
}

// The accumulator is carried by a loop whose pointers move uniformly.
TEST_P(CpuDot, CarriedAccumulator) {
  int m = 16, n = 32, k = 8, steps = 5;
  std::string text = "func.func @k(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: "
                     "!tile.ptr<f32>, %steps: i32) {\n";
  text += matrix("a", m, k, "f32") + matrix("b", k, n, "f32") +
          matrix("c", m, n, "f32");
  text += R"(
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %lo = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %da = arith.constant dense<128> : tensor<16x8xi32>
  %db = arith.constant dense<256> : tensor<8x32xi32>
  %r:3 = scf.for %s = %lo to %steps step %one iter_args(%acc = %zero, %pa = %ap, %pb = %bp)
      -> (tensor<16x32xf32>, tensor<16x8x!tile.ptr<f32>>, tensor<8x32x!tile.ptr<f32>>) : i32 {
    %av = tile.load %pa : tensor<16x8x!tile.ptr<f32>>
    %bv = tile.load %pb : tensor<8x32x!tile.ptr<f32>>
    %next = tile.dot %av, %bv, %acc ieee : tensor<16x8xf32>, tensor<8x32xf32> -> tensor<16x32xf32>
    %na = tile.addptr %pa, %da : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
    %nb = tile.addptr %pb, %db : tensor<8x32x!tile.ptr<f32>>, tensor<8x32xi32>
    scf.yield %next, %na, %nb : tensor<16x32xf32>, tensor<16x8x!tile.ptr<f32>>, tensor<8x32x!tile.ptr<f32>>
  }
  tile.store %cp, %r#0 : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xf32>
  return
})";
  TileKernel kernel(text, target());
  // Accumulator, two packed operands, nothing else.
  EXPECT_LE(kernel.scratchBytes, 4 * (16 * 32 + 16 * 8 + 8 * 32));
  std::vector<float> a = Numbers(1).vector(size_t(m) * k * steps);
  std::vector<float> b = Numbers(2).vector(size_t(n) * k * steps);
  std::vector<float> c(size_t(m) * n);
  kernel.run({1}, a.data(), b.data(), c.data(), steps);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int s = 0; s < steps; ++s)
        for (int l = 0; l < k; ++l)
          sum += double(a[s * m * k + i * k + l]) * b[s * k * n + l * n + j];
      ASSERT_NEAR(c[i * n + j], sum, 1e-5);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuDot,
                         testing::Range(0, int(testTargets().size())));

} // namespace
