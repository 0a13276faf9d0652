// tests/unit/runtime/ListLaunchesTest.cpp - tests of
// runtime/launch/ListLaunches.h. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/ListLaunches.h"

#include "runtime/Kernel.h"

#include <gtest/gtest.h>

using namespace tessera;
using runtime::LaunchListing;

static const char *const listedSource = R"(import triton
import triton.language as tl


@triton.jit
def listed(out, n, B: tl.constexpr = 4):
    tl.store(out, n + 41)
)";

// One of each kind, in order; nothing is compiled and nothing runs.
TEST(ListLaunches, KeepsEachKindOfLaunchOnce) {
  alignas(16) int64_t memory[4] = {7, 7, 7, 7};
  const Kernel kernel = Kernel::fromSource(listedSource, "listed");
  const PreparedLaunch again(kernel);
  const KernelStats before = kernelStats();
  std::vector<LaunchRequest> launches;
  {
    LaunchListing listing;
    for (int64_t n : {32, 48, 33}) // divisible by 16 or not
      for (int i = 0; i < 2; ++i)
        again.launch({1, 1, 1},
                     std::vector<Arg>{Pointer{memory, DType::I64}, n});
    kernel.launch({1, 1, 1}, {Pointer{memory + 1, DType::I64}, int64_t(32)},
                  {{"B", int64_t(8)}});
    launches = listing.take();
    EXPECT_TRUE(listing.take().empty());
  }
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(std::get<int64_t>(launches[1].args[1]), 33);
  EXPECT_EQ(launches[2].constexprs.at("B"), ConstexprValue(int64_t(8)));
  EXPECT_EQ(launches[2].kernel.name(), "listed");
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(kernelStats().compiled, before.compiled);
  EXPECT_EQ(kernelStats().loaded, before.loaded);
}
