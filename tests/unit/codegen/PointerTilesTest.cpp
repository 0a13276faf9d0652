// tests/unit/codegen/PointerTilesTest.cpp - pointers that are not offsets from
// one argument.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

using namespace tessera;

namespace {

constexpr int kRows = 8, kColumns = 32;

class CpuPointerTiles : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
  TileKernel kernel(const std::string &body) const {
    return textKernel(R"(
@triton.jit
def k(A, B, R, O, n, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
)" + body,
                      "k", "A=*fp32 B=*fp32 R=*i64 O=*fp32 n=i32 M:8 N:32",
                      target());
  }
  // A [16, 32], then B as the negative of A; R holds addresses of rows.
  void SetUp() override {
    for (int i = 0; i < 2 * kRows * kColumns; ++i) {
      a.push_back(float(i + 1));
      b.push_back(-float(i + 1));
    }
    for (int r = 0; r < kRows; ++r)
      rows.push_back(reinterpret_cast<int64_t>(&a[size_t(5 * r % 16) * 32]));
  }
  void run(const TileKernel &kernel, int n) {
    kernel.run({1}, a.data(), b.data(), rows.data(), o.data(), n);
  }

  std::vector<float> a, b, o = std::vector<float>(kRows * kColumns);
  std::vector<int64_t> rows;
};

TEST_P(CpuPointerTiles, CarriedByWhile) {
  TileKernel k = kernel(R"(
    acc = tl.zeros((M, N), tl.float32)
    p = A + r * N
    i = 0
    while i < n:
        acc += tl.load(p[:, None] + c[None, :])
        p += N
        i += 1
    tl.store(O + r[:, None] * N + c[None, :], acc)
)");
  run(k, 3);
  for (int at = 0; at < kRows * kColumns; ++at)
    ASSERT_EQ(o[at], a[at] + a[at + kColumns] + a[at + 2 * kColumns]) << at;
}

TEST_P(CpuPointerTiles, ChosenByWhere) {
  TileKernel k = kernel(R"(
    p = tl.where(r < n, A + r * N, B + r * N)
    tl.store(O + r[:, None] * N + c[None, :], tl.load(p[:, None] + c[None, :]))
)");
  run(k, 3);
  for (int at = 0; at < kRows * kColumns; ++at)
    ASSERT_EQ(o[at], (at < 3 * kColumns ? a : b)[at]) << at;
}

TEST_P(CpuPointerTiles, ChosenForEachElement) {
  TileKernel k = kernel(R"(
    at = r[:, None] * N + c[None, :]
    p = tl.where((r[:, None] + c[None, :]) % 2 == 0, A + at, B + at)
    tl.store(O + at, tl.load(p))
)");
  run(k, 0);
  for (int at = 0; at < kRows * kColumns; ++at)
    ASSERT_EQ(o[at], ((at / kColumns + at) % 2 ? b : a)[at]) << at;
}

TEST_P(CpuPointerTiles, AddressesFromMemory) {
  TileKernel k = kernel(R"(
    p = tl.load(R + r).to(tl.pointer_type(tl.float32))
    tl.store(O + r[:, None] * N + c[None, :], tl.load(p[:, None] + c[None, :], mask=c[None, :] < n, other=7.0))
    tl.debug_barrier()
    tl.store(p[:, None] + c[None, :], c[None, :] * 1.0, mask=r[:, None] < 2)
    tl.atomic_add(p + 1, 100.0)
)");
  const auto before = a;
  run(k, 5);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) {
      const size_t row = size_t(5 * r % 16) * kColumns;
      const float held = before[row + c];
      ASSERT_EQ(o[size_t(r) * kColumns + c], c < 5 ? held : 7) << r << " " << c;
      ASSERT_EQ(a[row + c], (r < 2 ? float(c) : held) + (c == 1 ? 100.0f : 0))
          << r << " " << c;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuPointerTiles,
                         testing::Range(0, int(testTargets().size())));

} // namespace
