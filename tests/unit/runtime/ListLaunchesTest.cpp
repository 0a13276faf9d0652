// tests/unit/runtime/ListLaunchesTest.cpp - tests of
// runtime/launch/ListLaunches.h.
// Copyright the tessera authors.
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
    launches = listing.requests();
  }
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(std::get<int64_t>(launches[1].args[1]), 33);
  EXPECT_EQ(launches[2].constexprs.at("B"), ConstexprValue(int64_t(8)));
  EXPECT_EQ(launches[2].kernel.name(), "listed");
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(kernelStats().compiled, before.compiled);
  EXPECT_EQ(kernelStats().loaded, before.loaded);
}

// A launch runs, and its thread learns which of the list it was.
TEST(ListLaunches, RunsAndNumbersLaunches) {
  alignas(16) int64_t memory[4] = {};
  const Kernel kernel = Kernel::fromSource(listedSource, "listed");
  const auto launch = [&](int64_t n) {
    LaunchListing::forgetLast();
    kernel.launch({1, 1, 1}, {Pointer{memory, DType::I64}, n});
    return LaunchListing::last();
  };
  EXPECT_EQ(launch(32), -1); // without a list
  {
    LaunchListing listing(LaunchListing::Launches::Run);
    const int64_t before = memory[0];
    EXPECT_EQ(launch(32), 0);
    EXPECT_NE(memory[0], before) << "it did not run";
    EXPECT_EQ(launch(33), 1);
    EXPECT_EQ(launch(48), 0) << "divisible by 16, as the first";
    EXPECT_EQ(listing.requests().size(), 2u);
    LaunchListing::forgetLast();
    EXPECT_EQ(LaunchListing::last(), -1);
  }
  EXPECT_EQ(launch(32), -1);
}
