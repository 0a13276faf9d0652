// tests/unit/simulator/machine/KernelTest.cpp - kernels compiled by Triton 3.6,
// against fp64 on the host.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// ptx/*.ptx is what triton.compile gave for small kernels in the style of its
// tutorials, for sm_80 (PTX 8.7), without the debug sections.
#include "tests/unit/simulator/machine/Fixture.h"

#include "simulator/arith/Bits.h"

#include <cmath>
#include <random>

namespace tessera::sim {
namespace {

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float &v : values)
    v = uniform(generator);
  return values;
}

TEST(SimKernel, VectorAdd) {
  Module module = loadFile("vadd.ptx");
  ASSERT_EQ(module.kernels(), std::vector<std::string>{"vadd"});
  EXPECT_EQ(module.target(), "sm_80");
  EXPECT_EQ(module.requiredBlock("vadd"), (Dim3{128, 1, 1}));
  constexpr int32_t N = 3000; // the last block is partial
  std::vector<float> x = randomFloats(N, 1), y = randomFloats(N, 2), z(N);
  Memory memory;
  memory.add("X", std::as_const(x).data(), N * 4);
  memory.add("Y", std::as_const(y).data(), N * 4);
  memory.add("Z", z.data(), N * 4, true, false);
  Report report =
      module.launch("vadd", {3, 1, 1}, {128, 1, 1}, 0,
                    {pointer(x.data()), pointer(y.data()), pointer(z.data()),
                     scalar(N), pointer(nullptr), pointer(nullptr)},
                    memory);
  report.throwIfBad();
  for (int i = 0; i < N; ++i)
    ASSERT_EQ(z[i], x[i] + y[i]) << i;
  EXPECT_EQ(report.counters.blocks, 3u);
  // 4-byte loads, one sector for 8 lanes; each lane has 8 elements, 4 apart.
  EXPECT_GT(report.counters.laneInstructions, 3u * 128 * 8);
}

TEST(SimKernel, Softmax) {
  Module module = loadFile("softmax.ptx");
  constexpr int32_t Rows = 5, N = 781, Stride = 800;
  std::vector<float> x = randomFloats(Rows * Stride, 3), y(Rows * Stride);
  Memory memory;
  memory.add("X", std::as_const(x).data(), x.size() * 4);
  memory.add("Y", y.data(), y.size() * 4);
  module
      .launch("softmax", {Rows, 1, 1}, {128, 1, 1}, 16,
              {pointer(x.data()), pointer(y.data()), scalar(N), scalar(Stride),
               pointer(nullptr), pointer(nullptr)},
              memory)
      .throwIfBad();
  for (int r = 0; r < Rows; ++r) {
    double sum = 0;
    for (int i = 0; i < N; ++i)
      sum += std::exp(static_cast<double>(x[r * Stride + i]));
    for (int i = 0; i < N; ++i)
      ASSERT_NEAR(y[r * Stride + i],
                  std::exp(static_cast<double>(x[r * Stride + i])) / sum, 1e-9);
    for (int i = N; i < Stride; ++i)
      ASSERT_EQ(y[r * Stride + i], 0);
  }
}

TEST(SimKernel, MatmulFp16) {
  Module module = loadFile("matmul_fp16.ptx");
  constexpr int32_t M = 96, N = 128, K = 112; // not multiples of the tile
  auto halves = [](const std::vector<float> &values) {
    std::vector<uint16_t> bits;
    for (float v : values)
      bits.push_back(floatToF16(v));
    return bits;
  };
  std::vector<uint16_t> a = halves(randomFloats(128 * K, 4));
  std::vector<uint16_t> b = halves(randomFloats(K * N, 5)), c(M * N);
  Memory memory;
  memory.add("A", std::as_const(a).data(), a.size() * 2);
  memory.add("B", std::as_const(b).data(), b.size() * 2);
  memory.add("C", c.data(), c.size() * 2, true, false);
  Report report =
      module.launch("matmul", {2, 2, 1}, {128, 1, 1}, 16384,
                    {pointer(a.data()), pointer(b.data()), pointer(c.data()),
                     scalar(M), scalar(N), scalar(K), scalar(K), scalar(N),
                     scalar(N), pointer(nullptr), pointer(nullptr)},
                    memory);
  report.throwIfBad();
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += static_cast<double>(f16ToFloat(a[i * K + k])) *
               f16ToFloat(b[k * N + j]);
      ASSERT_NEAR(f16ToFloat(c[i * N + j]), sum, 1e-2) << i << " " << j;
    }
  // 64 x 64 x 32 a step: 4 x 8 x 2 products of 16 x 8 x 16, four steps, four
  // blocks.
  EXPECT_EQ(report.counters.tensorInstructions, 4u * 4 * 8 * 2 * 4);
  EXPECT_GE(report.counters.asyncMaxGroups, 2u);
}

} // namespace
} // namespace tessera::sim
