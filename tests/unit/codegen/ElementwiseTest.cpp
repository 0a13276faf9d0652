// tests/unit/codegen/ElementwiseTest.cpp - loads, stores, expressions on cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TileKernel.h"

#include "support/Error.h"

#include <cmath>

using namespace tessera;

namespace {

class CpuElementwise : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
};

const char *const axpy = R"(
func.func @axpy(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32, %a: f32) {
  %pid = tile.program_id 0 : i32
  %c = arith.constant 64 : i32
  %start = arith.muli %pid, %c : i32
  %r = tile.range 0, 64 : tensor<64xi32>
  %s = tile.splat %start : i32 -> tensor<64xi32>
  %i = arith.addi %s, %r : tensor<64xi32>
  %ns = tile.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %yp = tile.addptr %ys, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %xv = tile.load %xp mask %m : tensor<64x!tile.ptr<f32>>
  %yv = tile.load %yp mask %m : tensor<64x!tile.ptr<f32>>
  %as = tile.splat %a : f32 -> tensor<64xf32>
  %p = arith.mulf %xv, %as : tensor<64xf32>
  %o = arith.addf %p, %yv : tensor<64xf32>
  tile.store %yp, %o mask %m : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
})";

TEST_P(CpuElementwise, MaskedTail) {
  TileKernel kernel(axpy, target());
  for (int n : {1, 63, 64, 65, 127, 150}) {
    Numbers numbers;
    std::vector<float> x = numbers.vector(192), y = numbers.vector(192);
    std::vector<float> expected = y;
    for (int i = 0; i < n; ++i)
      expected[i] = std::fma(x[i], 2.5f, y[i]);
    kernel.run({3}, x.data(), y.data(), n, 2.5f);
    EXPECT_EQ(y, expected) << n;
  }
}

// y[i] = x[i] where x is y, shifted: the kernel must read the complete tile
// before it writes any element.
TEST_P(CpuElementwise, OverlappingArguments) {
  TileKernel kernel(axpy, target());
  for (int shift : {-17, -1, 0, 1, 5}) {
    std::vector<float> memory = Numbers(7).vector(128);
    std::vector<float> expected = memory;
    for (int i = 0; i < 64; ++i)
      expected[32 + i] = std::fma(memory[32 + i + shift], 3.0f, memory[32 + i]);
    kernel.run({1}, memory.data() + 32 + shift, memory.data() + 32, 64, 3.0f);
    EXPECT_EQ(memory, expected) << shift;
  }
}

// out[j, i] = a[i, j] + r[i]: transposed access and rows as columns.
const char *const transpose = R"(
func.func @transpose(%a: !tile.ptr<f32>, %r: !tile.ptr<f32>, %o: !tile.ptr<f32>, %stride: i32) {
  %i = tile.range 0, $M : tensor<$Mxi32>
  %j = tile.range 0, $N : tensor<$Nxi32>
  %i1 = tile.expand_dims %i, 1 : tensor<$Mxi32> -> tensor<$Mx1xi32>
  %j0 = tile.expand_dims %j, 0 : tensor<$Nxi32> -> tensor<1x$Nxi32>
  %st = tile.splat %stride : i32 -> tensor<$Mx1xi32>
  %is = arith.muli %i1, %st : tensor<$Mx1xi32>
  %ib = tile.broadcast %is : tensor<$Mx1xi32> -> tensor<$Mx$Nxi32>
  %jb = tile.broadcast %j0 : tensor<1x$Nxi32> -> tensor<$Mx$Nxi32>
  %off = arith.addi %ib, %jb : tensor<$Mx$Nxi32>
  %as = tile.splat %a : !tile.ptr<f32> -> tensor<$Mx$Nx!tile.ptr<f32>>
  %ap = tile.addptr %as, %off : tensor<$Mx$Nx!tile.ptr<f32>>, tensor<$Mx$Nxi32>
  %av = tile.load %ap : tensor<$Mx$Nx!tile.ptr<f32>>
  %rs = tile.splat %r : !tile.ptr<f32> -> tensor<$Mx!tile.ptr<f32>>
  %rp = tile.addptr %rs, %i : tensor<$Mx!tile.ptr<f32>>, tensor<$Mxi32>
  %rv = tile.load %rp : tensor<$Mx!tile.ptr<f32>>
  %r1 = tile.expand_dims %rv, 1 : tensor<$Mxf32> -> tensor<$Mx1xf32>
  %rb = tile.broadcast %r1 : tensor<$Mx1xf32> -> tensor<$Mx$Nxf32>
  %sum = arith.addf %av, %rb : tensor<$Mx$Nxf32>
  %t = tile.trans %sum [1, 0] : tensor<$Mx$Nxf32> -> tensor<$Nx$Mxf32>
  %jj = tile.expand_dims %j, 1 : tensor<$Nxi32> -> tensor<$Nx1xi32>
  %ii = tile.expand_dims %i, 0 : tensor<$Mxi32> -> tensor<1x$Mxi32>
  %cm = arith.constant dense<$M> : tensor<$Nx1xi32>
  %jm = arith.muli %jj, %cm : tensor<$Nx1xi32>
  %jmb = tile.broadcast %jm : tensor<$Nx1xi32> -> tensor<$Nx$Mxi32>
  %iib = tile.broadcast %ii : tensor<1x$Mxi32> -> tensor<$Nx$Mxi32>
  %oo = arith.addi %jmb, %iib : tensor<$Nx$Mxi32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<$Nx$Mx!tile.ptr<f32>>
  %op = tile.addptr %os, %oo : tensor<$Nx$Mx!tile.ptr<f32>>, tensor<$Nx$Mxi32>
  tile.store %op, %t : tensor<$Nx$Mx!tile.ptr<f32>>, tensor<$Nx$Mxf32>
  return
})";

TEST_P(CpuElementwise, Transposed) {
  for (auto [m, n] :
       {std::pair(16, 32), {64, 64}, {1, 8}, {8, 1}, {2, 64}, {32, 4}}) {
    TileKernel kernel(
        fill(transpose, {{"M", std::to_string(m)}, {"N", std::to_string(n)}}),
        target());
    int stride = n + 3;
    std::vector<float> a = Numbers(3).vector(size_t(m) * stride);
    std::vector<float> r = Numbers(4).vector(m), o(size_t(n) * m), e(o.size());
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        e[j * m + i] = a[i * stride + j] + r[i];
    kernel.run({1}, a.data(), r.data(), o.data(), stride);
    EXPECT_EQ(o, e) << m << "x" << n;
  }
}

// o[i] = x[idx[i]] with a mask and a value for what is masked.
const char *const gather = R"(
func.func @gather(%x: !tile.ptr<$T>, %idx: !tile.ptr<i64>, %o: !tile.ptr<$T>) {
  %i = tile.range 0, 32 : tensor<32xi32>
  %is = tile.splat %idx : !tile.ptr<i64> -> tensor<32x!tile.ptr<i64>>
  %ip = tile.addptr %is, %i : tensor<32x!tile.ptr<i64>>, tensor<32xi32>
  %iv = tile.load %ip : tensor<32x!tile.ptr<i64>>
  %zero = arith.constant dense<0> : tensor<32xi64>
  %m = arith.cmpi sge, %iv, %zero : tensor<32xi64>
  %xs = tile.splat %x : !tile.ptr<$T> -> tensor<32x!tile.ptr<$T>>
  %xp = tile.addptr %xs, %iv : tensor<32x!tile.ptr<$T>>, tensor<32xi64>
  %other = arith.constant dense<$O> : tensor<32x$T>
  %v = tile.load %xp mask %m other %other : tensor<32x!tile.ptr<$T>>
  %os = tile.splat %o : !tile.ptr<$T> -> tensor<32x!tile.ptr<$T>>
  %rev = arith.constant dense<31> : tensor<32xi32>
  %ri = arith.subi %rev, %i : tensor<32xi32>
  %op = tile.addptr %os, %ri : tensor<32x!tile.ptr<$T>>, tensor<32xi32>
  tile.store %op, %v : tensor<32x!tile.ptr<$T>>, tensor<32x$T>
  return
})";

template <typename T>
void checkGather(const CpuTarget &target, const char *type, const char *other,
                 T otherValue) {
  TileKernel kernel(fill(gather, {{"T", type}, {"O", other}}), target);
  std::vector<T> x(100), o(32), e(32);
  std::vector<int64_t> idx(32);
  for (int i = 0; i < 100; ++i)
    x[i] = T(i * 3 + 1);
  for (int i = 0; i < 32; ++i) {
    idx[i] = i % 5 == 3 ? -7 : (i * 37) % 100;
    e[31 - i] = idx[i] < 0 ? otherValue : x[idx[i]];
  }
  kernel.run({1}, x.data(), idx.data(), o.data());
  EXPECT_EQ(o, e) << type;
}

TEST_P(CpuElementwise, GatherAndReverse) {
  checkGather<float>(target(), "f32", "5.0", 5.0f);
  checkGather<double>(target(), "f64", "5.0", 5.0);
  checkGather<int32_t>(target(), "i32", "-2", -2);
  checkGather<int64_t>(target(), "i64", "-2", -2);
  checkGather<int8_t>(target(), "i8", "-2", -2);
  checkGather<uint16_t>(target(), "bf16", "0.0", 0);
  checkGather<uint16_t>(target(), "f16", "0.0", 0);
}

// bf16 rounds once per operation, f16 likewise.
TEST_P(CpuElementwise, Bf16RoundsPerOperation) {
  TileKernel kernel(R"(
func.func @k(%x: !tile.ptr<bf16>, %o: !tile.ptr<bf16>) {
  %i = tile.range 0, 64 : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<bf16> -> tensor<64x!tile.ptr<bf16>>
  %xp = tile.addptr %xs, %i : tensor<64x!tile.ptr<bf16>>, tensor<64xi32>
  %v = tile.load %xp : tensor<64x!tile.ptr<bf16>>
  %s = arith.mulf %v, %v : tensor<64xbf16>
  %t = arith.addf %s, %v : tensor<64xbf16>
  %os = tile.splat %o : !tile.ptr<bf16> -> tensor<64x!tile.ptr<bf16>>
  %op = tile.addptr %os, %i : tensor<64x!tile.ptr<bf16>>, tensor<64xi32>
  tile.store %op, %t : tensor<64x!tile.ptr<bf16>>, tensor<64xbf16>
  return
})",
                    target());
  std::vector<uint16_t> x(64), o(64), e(64);
  Numbers numbers(9);
  for (int i = 0; i < 64; ++i) {
    x[i] = toBf16(numbers.next() * 100);
    if (i == 5)
      x[i] = 0x7f80;
    if (i == 6)
      x[i] = 0x7fff;
    float v = fromBf16(x[i]);
    e[i] = toBf16(fromBf16(toBf16(v * v)) + v);
  }
  kernel.run({1}, x.data(), o.data());
  EXPECT_EQ(o, e);
}

// Joins, splits, reshapes: o = reshape(join(x, 2x)), p = second half of split.
TEST_P(CpuElementwise, JoinSplitReshape) {
  TileKernel kernel(R"(
func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>, %p: !tile.ptr<f32>) {
  %i = tile.range 0, 16 : tensor<16xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %i : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  %v = tile.load %xp : tensor<16x!tile.ptr<f32>>
  %d = arith.addf %v, %v : tensor<16xf32>
  %j = tile.join %v, %d : tensor<16xf32> -> tensor<16x2xf32>
  %f = tile.reshape %j : tensor<16x2xf32> -> tensor<32xf32>
  %r = tile.reshape %f : tensor<32xf32> -> tensor<4x4x2xf32>
  %a, %b = tile.split %r : tensor<4x4x2xf32> -> tensor<4x4xf32>
  %bt = tile.trans %b [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %bf = tile.reshape %bt : tensor<4x4xf32> -> tensor<16xf32>
  %k = tile.range 0, 32 : tensor<32xi32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>>
  %op = tile.addptr %os, %k : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
  tile.store %op, %f : tensor<32x!tile.ptr<f32>>, tensor<32xf32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %pp = tile.addptr %ps, %i : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  tile.store %pp, %bf : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
})",
                    target());
  std::vector<float> x = Numbers(2).vector(16), o(32), p(16);
  kernel.run({1}, x.data(), o.data(), p.data());
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(o[2 * i], x[i]);
    EXPECT_EQ(o[2 * i + 1], 2 * x[i]);
    EXPECT_EQ(p[(i % 4) * 4 + i / 4], 2 * x[i]);
  }
}

// Swaps each pair of neighbours: vectors read every second element of the rows,
// and stores interleave two tensors. The kernel does not read past the last
// pair: the scratch memory and the memory after it are poisoned.
template <typename T>
void checkPairs(const CpuTarget &target, const std::string &type) {
  TileKernel kernel(fill(R"(
func.func @k(%x: !tile.ptr<$T>, %o: !tile.ptr<$T>) {
  %i = tile.range 0, 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<$T> -> tensor<256x!tile.ptr<$T>>
  %xp = tile.addptr %xs, %i : tensor<256x!tile.ptr<$T>>, tensor<256xi32>
  %v = tile.load %xp : tensor<256x!tile.ptr<$T>>
  %r = tile.reshape %v : tensor<256x$T> -> tensor<4x32x2x$T>
  %a, %b = tile.split %r : tensor<4x32x2x$T> -> tensor<4x32x$T>
  %j = tile.join %b, %a : tensor<4x32x$T> -> tensor<4x32x2x$T>
  %f = tile.reshape %j : tensor<4x32x2x$T> -> tensor<256x$T>
  %os = tile.splat %o : !tile.ptr<$T> -> tensor<256x!tile.ptr<$T>>
  %op = tile.addptr %os, %i : tensor<256x!tile.ptr<$T>>, tensor<256xi32>
  tile.store %op, %f : tensor<256x!tile.ptr<$T>>, tensor<256x$T>
  return
})",
                         {{"T", type}}),
                    target);
  std::vector<T> x, o(256);
  for (int i = 0; i < 256; ++i)
    x.push_back(T(i + 3));
  kernel.run({1}, x.data(), o.data());
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(o[i], x[i ^ 1]) << type << " " << i;
}

TEST_P(CpuElementwise, SwapsPairs) {
  checkPairs<float>(target(), "f32");
  checkPairs<int64_t>(target(), "i64");
  checkPairs<uint16_t>(target(), "i16");
  checkPairs<uint8_t>(target(), "i8");
}

TEST(CpuLower, UnsupportedNamesTheLocation) {
  try {
    TileKernel kernel(R"(
func.func @k(%x: f32) {
  %h = tile.convert %x rtz : f32 -> f16 loc("kernel.py":12:3)
  tile.print "x" %h : f16
  return
})",
                      CpuTarget());
    FAIL() << "compiled";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("kernel.py:12:3: error:"),
              std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("HINT"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuElementwise,
                         testing::Range(0, int(testTargets().size())));

} // namespace
