// tests/unit/codegen/RegressionsTest.cpp - kernels that random testing found to
// be wrong.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

#include <algorithm>

using namespace tessera;

namespace {

class CpuRegressions : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
};

// The fp16 pattern of an integer below 2048.
uint16_t half(int value) {
  if (value == 0)
    return 0;
  const int magnitude = std::abs(value);
  int exponent = 0;
  while (magnitude >> (exponent + 1))
    ++exponent;
  return uint16_t((value < 0) << 15 | (exponent + 15) << 10 |
                  ((magnitude << (10 - exponent)) & 0x3ff));
}

// LLVM combined the maximum of extended fp16 values into one of fp16 and called
// fmaxf for it, which failed with "the generated code needs symbols that a
// kernel does not have". Seed 219 of tests/differential found it.
TEST_P(CpuRegressions, LargestOfHalvesCallsNoLibrary) {
  TileKernel kernel = textKernel(R"(
@triton.jit
def k(X, O, P):
    i = tl.arange(0, 16)
    j = tl.arange(0, 32)
    x = tl.load(X + i[:, None] * 32 + j[None, :])
    tl.store(O + i, tl.max(x, axis=1))
    tl.store(P + i[:, None] * 32 + j[None, :], tl.minimum(x, i[:, None]))
)",
                                 "k", "X=*fp16 O=*fp32 P=*fp16", target());
  std::vector<uint16_t> x(16 * 32), p(16 * 32);
  std::vector<float> o(16);
  auto value = [](int at) { return at * 37 % 101 - 50; };
  for (int at = 0; at < 16 * 32; ++at)
    x[at] = half(value(at));
  kernel.run({1}, x.data(), o.data(), p.data());
  for (int i = 0; i < 16; ++i) {
    int best = -1000;
    for (int j = 0; j < 32; ++j) {
      best = std::max(best, value(i * 32 + j));
      EXPECT_EQ(p[i * 32 + j], half(std::min(value(i * 32 + j), i)));
    }
    EXPECT_EQ(o[i], float(best));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuRegressions,
                         testing::Range(0, int(testTargets().size())));

} // namespace
