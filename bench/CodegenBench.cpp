// bench/CodegenBench.cpp - GFLOP/s of compiled matrix products and attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

#include <benchmark/benchmark.h>

using namespace tessera;

namespace {

const char *const matmul = R"(
@triton.jit
def matmul(A, B, C, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    ap = A + rm[:, None] * K + rk[None, :]
    bp = B + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(ap), tl.load(bp), acc)
        ap += BK
        bp += BK * N
    tl.store(C + rm[:, None] * N + rn[None, :], acc)
)";

const char *const attention = R"(
@triton.jit
def attention(Q, K, V, O, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + rows[:, None] * D + d[None, :], mask=(rows < T)[:, None], other=0.0)
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    kp = K + d[:, None] + cols[None, :] * D
    vp = V + cols[:, None] * D + d[None, :]
    for n in range(0, T, BN):
        ok = n + cols < T
        s = tl.dot(q, tl.load(kp, mask=ok[None, :], other=0.0)) * scale
        s = tl.where(ok[None, :], s, float("-inf"))
        new = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(peak - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        v = tl.load(vp, mask=ok[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        peak = new
        kp += BN * D
        vp += BN * D
    acc = acc / total[:, None]
    tl.store(O + rows[:, None] * D + d[None, :], acc.to(O.dtype.element_ty), mask=(rows < T)[:, None])
)";

CpuTarget targetOf(int64_t bits) {
  auto host = CpuTarget::host();
  return bits == 512 && host ? *host : CpuTarget();
}

void Matmul(benchmark::State &state) {
  const int64_t block = state.range(0), size = 256;
  std::string b = std::to_string(block);
  TileKernel kernel =
      textKernel(matmul, "matmul",
                 "A=*fp32 B=*fp32 C=*fp32 K=i32 N=i32 BM:" + b + " BN:64 BK:64",
                 targetOf(state.range(1)));
  std::vector<float> x = Numbers(1).vector(size * size),
                     y = Numbers(2).vector(size * size), z(size * size);
  for (auto _ : state)
    kernel.run({uint32_t(size / block), uint32_t(size / 64)}, x.data(),
               y.data(), z.data(), size, size);
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * size * size * size, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Matmul)->ArgsProduct({{16, 32, 64}, {256, 512}});

void Attention(benchmark::State &state) {
  const int64_t t = 512, d = state.range(1), bm = state.range(0);
  bool narrow = state.range(3) != 0;
  std::string type = narrow ? "*bf16" : "*fp32";
  TileKernel kernel =
      textKernel(attention, "attention",
                 "Q=" + type + " K=" + type + " V=" + type + " O=" + type +
                     " scale=fp32 T=i32 D:" + std::to_string(d) +
                     " BM:" + std::to_string(bm) + " BN:64",
                 targetOf(state.range(2)));
  std::vector<float> q(t * d, 0.01f), k(q), v(q), o(q);
  for (auto _ : state)
    kernel.run({uint32_t(t / bm)}, q.data(), k.data(), v.data(), o.data(), 0.1f,
               t);
  state.counters["GFLOP/s"] = benchmark::Counter(
      4e-9 * t * t * d, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Attention)->ArgsProduct({{16, 64}, {64, 128}, {256, 512}, {0, 1}});

} // namespace

BENCHMARK_MAIN();
