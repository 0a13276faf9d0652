// tests/unit/codegen/KernelsTest.cpp - complete kernels on cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

#include "tests/helpers/TensorError.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tessera;

namespace {

class CpuKernels : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
};

const char *const attention = R"(
@triton.jit
def attention(Q, K, V, O, L, scale_log2, stride, T,
              D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    pid = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * stride * T
    rows = pid * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    ok = rows < T
    q = tl.load(Q + base + rows[:, None] * stride + d[None, :], mask=ok[:, None], other=0.0)
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    kp = K + base + d[:, None] + cols[None, :] * stride
    vp = V + base + cols[:, None] * stride + d[None, :]
    end = T
    if CAUSAL:
        end = tl.minimum((pid + 1) * BM, T)
    for n in range(0, end, BN):
        key = n + cols
        s = tl.dot(q, tl.load(kp, mask=key[None, :] < T, other=0.0)) * scale_log2
        keep = key[None, :] < T
        if CAUSAL:
            keep = keep & (rows[:, None] >= key[None, :])
        s = tl.where(keep, s, float("-inf"))
        new = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(peak - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        v = tl.load(vp, mask=key[:, None] < T, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        peak = new
        kp += BN * stride
        vp += BN * stride
    acc = acc / total[:, None]
    tl.store(O + base + rows[:, None] * stride + d[None, :], acc.to(O.dtype.element_ty), mask=ok[:, None])
    tl.store(L + tl.program_id(1) * T + rows, peak + tl.log2(total), mask=ok)
)";

struct Reference {
  std::vector<double> o, l;
};

Reference attend(const std::vector<float> &q, const std::vector<float> &k,
                 const std::vector<float> &v, int heads, int t, int d,
                 double scaleLog2, bool causal) {
  Reference r;
  r.o.resize(q.size());
  r.l.resize(size_t(heads) * t);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < t; ++i) {
      int n = causal ? i + 1 : t;
      std::vector<double> s(n);
      double peak = -1e300, total = 0;
      for (int j = 0; j < n; ++j) {
        for (int c = 0; c < d; ++c)
          s[j] += double(q[(h * t + i) * d + c]) * k[(h * t + j) * d + c];
        s[j] *= scaleLog2;
        peak = std::max(peak, s[j]);
      }
      for (double &x : s)
        total += x = std::exp2(x - peak);
      for (int j = 0; j < n; ++j)
        for (int c = 0; c < d; ++c)
          r.o[(h * t + i) * d + c] += s[j] / total * v[(h * t + j) * d + c];
      r.l[h * t + i] = peak + std::log2(total);
    }
  return r;
}

TEST_P(CpuKernels, Attention) {
  struct Case {
    int d, bm, bn, t, causal;
  };
  for (Case c : {Case{32, 32, 32, 80, 1},
                 {64, 16, 64, 100, 0},
                 {16, 64, 16, 64, 1},
                 {128, 16, 32, 33, 0}}) {
    TileKernel kernel = textKernel(
        attention, "attention",
        "Q=*fp32 K=*fp32 V=*fp32 O=*fp32 L=*fp32 scale_log2=fp32 stride=i32 "
        "T=i32 D:" +
            std::to_string(c.d) + " BM:" + std::to_string(c.bm) + " BN:" +
            std::to_string(c.bn) + " CAUSAL:" + std::to_string(c.causal),
        target());
    const int heads = 2;
    size_t n = size_t(heads) * c.t * c.d;
    std::vector<float> q = Numbers(1).vector(n), k = Numbers(2).vector(n),
                       v = Numbers(3).vector(n), o(n), l(size_t(heads) * c.t);
    float scale = 1.4426950f / std::sqrt(float(c.d));
    kernel.run({uint32_t((c.t + c.bm - 1) / c.bm), heads}, q.data(), k.data(),
               v.data(), o.data(), l.data(), scale, c.d, c.t);
    Reference r = attend(q, k, v, heads, c.t, c.d, scale, c.causal);
    for (size_t i = 0; i < n; ++i)
      ASSERT_NEAR(o[i], r.o[i], 2e-6) << i << " d=" << c.d;
    for (size_t i = 0; i < l.size(); ++i)
      ASSERT_NEAR(l[i], r.l[i], 2e-6) << i;
  }
}

TEST_P(CpuKernels, AttentionBf16) {
  TileKernel kernel = textKernel(
      attention, "attention",
      "Q=*bf16 K=*bf16 V=*bf16 O=*bf16 L=*fp32 scale_log2=fp32 stride=i32 "
      "T=i32 D:32 BM:16 BN:32 CAUSAL:1",
      target());
  const int heads = 2, t = 50, d = 32;
  size_t n = size_t(heads) * t * d;
  std::vector<float> q = Numbers(1).vector(n), k = Numbers(2).vector(n),
                     v = Numbers(3).vector(n), l(size_t(heads) * t);
  std::vector<uint16_t> qb, kb, vb, ob(n);
  for (auto [from, to] : {std::pair(&q, &qb), {&k, &kb}, {&v, &vb}})
    for (float &x : *from) {
      to->push_back(toBf16(x));
      x = fromBf16(to->back());
    }
  float scale = 0.25f;
  kernel.run({4, heads}, qb.data(), kb.data(), vb.data(), ob.data(), l.data(),
             scale, d, t);
  Reference r = attend(q, k, v, heads, t, d, scale, true);
  const TensorError error = tensorError(
      int64_t(n), d, [&](int64_t i) { return fromBf16(ob[size_t(i)]); },
      [&](int64_t i) { return r.o[size_t(i)]; }, 5e-3);
  EXPECT_LT(error.rms, 5e-3);
  EXPECT_EQ(error.first, -1);
}

// Carried values that are swapped, a tensor index that grows unevenly, an `if`
// that yields tensors, nested loops.
TEST_P(CpuKernels, CarriedTensors) {
  TileKernel kernel = textKernel(R"(
@triton.jit
def k(X, O, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(X + i)
    b = tl.load(X + N + i)
    c = a * 0.0
    at = i
    for step in range(0, n):
        old = a
        a = b + 1.0
        b = old
        if step % 3 == 1:
            c = c + a
        else:
            c = c - b
        at = at + i
    w = a
    for step in range(0, n, 2):
        for inner in range(step, n):
            w = w + b
    tl.store(O + i, a)
    tl.store(O + N + i, b)
    tl.store(O + 2 * N + i, c)
    tl.store(O + 3 * N + i, at.to(tl.float32))
    tl.store(O + 4 * N + i, w)
)",
                                 "k", "X=*fp32 O=*fp32 n=i32 N:32", target());
  for (int n : {0, 1, 2, 7, 12}) {
    std::vector<float> x = Numbers(4).vector(64), o(160);
    kernel.run({1}, x.data(), o.data(), n);
    for (int i = 0; i < 32; ++i) {
      float a = x[i], b = x[32 + i], c = 0, at = float(i);
      for (int step = 0; step < n; ++step) {
        float old = a;
        a = b + 1.0f;
        b = old;
        c = step % 3 == 1 ? c + a : c - b;
        at += float(i);
      }
      float w = a;
      for (int step = 0; step < n; step += 2)
        for (int inner = step; inner < n; ++inner)
          w += b;
      ASSERT_EQ(o[i], a) << n << " " << i;
      ASSERT_EQ(o[32 + i], b) << n << " " << i;
      ASSERT_EQ(o[64 + i], c) << n << " " << i;
      ASSERT_EQ(o[96 + i], at) << n << " " << i;
      ASSERT_EQ(o[128 + i], w) << n << " " << i;
    }
  }
}

// In-place row softmax with a ragged width; every row is read before it is
// written.
TEST_P(CpuKernels, SoftmaxInPlace) {
  TileKernel kernel = textKernel(R"(
@triton.jit
def softmax(X, n, BN: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BN)
    x = tl.load(X + row * n + i, mask=i < n, other=float("-inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(X + row * n + i, e / tl.sum(e, 0), mask=i < n)
)",
                                 "softmax", "X=*fp32 n=i32 BN:128", target());
  for (int n : {1, 17, 100, 128}) {
    std::vector<float> x = Numbers(8).vector(size_t(n) * 5 + 64), old = x;
    kernel.run({5}, x.data(), n);
    for (int r = 0; r < 5; ++r) {
      double total = 0;
      for (int i = 0; i < n; ++i)
        total += std::exp(double(old[r * n + i]));
      for (int i = 0; i < n; ++i)
        ASSERT_NEAR(x[r * n + i], std::exp(double(old[r * n + i])) / total,
                    1e-6);
    }
    for (size_t i = size_t(n) * 5; i < x.size(); ++i)
      ASSERT_EQ(x[i], old[i]) << "written past the end";
  }
}

// What libdevice has and Triton's interpreter lacks, against libm.
TEST_P(CpuKernels, LibdeviceFunctions) {
  TileKernel kernel = textKernel(R"(
@triton.jit
def k(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    tl.store(O + i, tl.extra.cuda.libdevice.tanh(x))
    tl.store(O + N + i, tl.extra.libdevice.rint(x))
    tl.store(O + 2 * N + i, tl.math.round(x))
    tl.store(O + 3 * N + i, tl.math.trunc(x))
    tl.store(O + 4 * N + i, tl.math.isnan(x) | tl.math.isinf(x))
)",
                                 "k", "X=*fp32 O=*fp32 N:16", target());
  const int n = 16;
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,  0.5f,  -0.5f, 1.5f,  2.5f, -2.5f, 0.49f, 9.0f,
                          -9.0f, 1e-5f, 1e9f,  -3.7f, 3.7f, inf,   -inf,  NAN},
                     o(5 * n);
  kernel.run({1}, x.data(), o.data());
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(o[4 * n + i], float(!std::isfinite(x[i]))) << x[i];
    if (std::isnan(x[i]))
      continue;
    EXPECT_NEAR(o[i], std::tanh(x[i]), 2e-7) << x[i];
    EXPECT_EQ(o[n + i], std::nearbyint(x[i])) << x[i];
    EXPECT_EQ(o[2 * n + i], std::round(x[i])) << x[i];
    EXPECT_EQ(o[3 * n + i], std::trunc(x[i])) << x[i];
  }
}

// Backward-like: one operand used as it is and transposed, an accumulator in
// both orientations, wrapped row indices.
TEST_P(CpuKernels, OperandsInBothOrientations) {
  TileKernel kernel = textKernel(R"(
@triton.jit
def k(A, B, O, P, rows, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM) % rows
    k = tl.arange(0, BK)
    a = tl.load(A + m[:, None] * BK + k[None, :])
    b = tl.load(B + m[:, None] * BK + k[None, :])
    s = tl.dot(a, tl.trans(b))
    o = tl.dot(tl.trans(s), a)
    p = tl.dot(s, b)
    im = tl.arange(0, BM)
    tl.store(O + im[:, None] * BK + k[None, :], o)
    tl.store(P + im[:, None] * BK + k[None, :], p)
)",
                                 "k",
                                 "A=*fp32 B=*fp32 O=*fp32 P=*fp32 rows=i32 "
                                 "BM:32 BK:16",
                                 target());
  const int m = 32, kk = 16, rows = 20;
  std::vector<float> a = Numbers(1).vector(m * kk),
                     b = Numbers(2).vector(m * kk), o(m * kk), p(m * kk);
  kernel.run({1}, a.data(), b.data(), o.data(), p.data(), rows);
  std::vector<double> s(m * m);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int c = 0; c < kk; ++c)
        s[i * m + j] += double(a[i % rows * kk + c]) * b[j % rows * kk + c];
  for (int i = 0; i < m; ++i)
    for (int c = 0; c < kk; ++c) {
      double eo = 0, ep = 0;
      for (int j = 0; j < m; ++j) {
        eo += s[j * m + i] * a[j % rows * kk + c];
        ep += s[i * m + j] * b[j % rows * kk + c];
      }
      ASSERT_NEAR(o[i * kk + c], eo, 1e-4);
      ASSERT_NEAR(p[i * kk + c], ep, 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuKernels,
                         testing::Range(0, int(testTargets().size())));

} // namespace
