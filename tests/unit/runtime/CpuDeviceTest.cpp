// tests/unit/runtime/CpuDeviceTest.cpp - tests of runtime/device/cpu: loading,
// grids, threads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"
#include "runtime/device/cpu/CpuModule.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "support/Error.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

using namespace tessera;
using namespace tessera::runtime;

static const std::string &fixture() {
  static const std::string code = readFile(TESSERA_FIXTURE_KERNEL);
  return code;
}

static void checkGrid(const Grid &grid) {
  CpuModule module(fixture(), "tessera_entry");
  const size_t programs = size_t(grid[0]) * grid[1] * grid[2];
  std::vector<int64_t> out(6 * programs);
  int64_t slots[3] = {reinterpret_cast<int64_t>(out.data()), -7, 1ll << 40};
  EXPECT_FALSE(runGrid(module, slots, grid, 1000).happened());
  for (size_t i = 0; i < programs; ++i) {
    const int64_t *row = &out[6 * i];
    ASSERT_EQ(row[0], 1) << i;
    EXPECT_EQ(row[1], int64_t(i % grid[0]));
    EXPECT_EQ(row[2],
              int64_t(i / grid[0] % grid[1] + 1000 * (i / grid[0] / grid[1])));
    EXPECT_EQ(row[3], -7);
    EXPECT_EQ(row[4], 1ll << 40);
    EXPECT_EQ(row[5], 0);
  }
}

TEST(CpuDevice, EveryProgramRunsOnce) {
  for (Grid grid : {Grid{1, 1, 1}, Grid{1000, 1, 1}, Grid{3, 5, 7},
                    Grid{1, 1, 129}, Grid{0, 5, 1}})
    checkGrid(grid);
}

TEST(CpuDevice, HostThreadsAreUsedWhenSet) {
  std::atomic<int> calls{0};
  setParallelFor(
      [&](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        ++calls;
        EXPECT_EQ(count, 3);
        body(0, 2);
        body(2, count);
      },
      [] { return 3; });
  checkGrid({10, 10, 1});
  EXPECT_EQ(calls, 1);
  setParallelFor(nullptr, nullptr);
  checkGrid({10, 10, 1});
  EXPECT_EQ(calls, 1);
}

TEST(CpuDevice, ScopedHostThreadsGiveBackThoseBefore) {
  int outer = 0, inner = 0;
  const auto counting = [](int &calls) {
    return [&calls](int64_t count,
                    const std::function<void(int64_t, int64_t)> &body) {
      ++calls;
      body(0, count);
    };
  };
  setParallelFor(counting(outer), [] { return 2; });
  try {
    const ScopedParallelFor scope(counting(inner), [] { return 2; });
    checkGrid({10, 10, 1});
    throw Error("a launch that fails");
  } catch (const Error &) {
  }
  EXPECT_EQ(inner, 1);
  checkGrid({10, 10, 1});
  EXPECT_EQ(inner, 1);
  EXPECT_EQ(outer, 1);
  setParallelFor(nullptr, nullptr);
}

namespace {
// A clock that the test moves: each look at it takes `fakeStep` nanoseconds,
// and one of them 5 ms.
std::atomic<uint64_t> fakeTime{0}, fakeStep{0};
std::atomic<int> looksBeforePause{-1};
uint64_t fakeClock() {
  if (looksBeforePause-- == 0)
    fakeTime += 5000000;
  return fakeTime += fakeStep;
}

// Launches grids of the fixture and counts how often they ask for threads.
struct Launches {
  void run(uint32_t programs) {
    std::vector<int64_t> out(6 * programs);
    int64_t slots[3] = {reinterpret_cast<int64_t>(out.data()), 0, 0};
    EXPECT_FALSE(runGrid(module, slots, {programs, 1, 1}, 1000, nullptr, &work)
                     .happened());
    for (uint32_t i = 0; i < programs; ++i)
      ASSERT_EQ(out[6 * i], 1) << i << " of " << programs;
  }

  CpuModule module{fixture(), "tessera_entry"};
  WorkEstimate work{fakeClock};
  int asked = 0;
  ScopedParallelFor threads{
      [this](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        ++asked;
        body(0, 1);
        body(1, count);
      },
      [] { return 2; }};
};
} // namespace

TEST(CpuDevice, SmallGridsRunOnTheCallingThread) {
  Launches launches;
  fakeStep = 100;
  launches.run(8); // not measured before
  EXPECT_EQ(launches.asked, 1);
  for (int i = 0; i < 10; ++i)
    launches.run(8); // 0.8 us
  launches.run(100);
  launches.run(1);
  EXPECT_EQ(launches.asked, 1);
  launches.run(10000); // 90 us: a hundred programs took 0.9
  EXPECT_EQ(launches.asked, 2);
}

TEST(CpuDevice, AGridThatIsLargerThanExpectedIsHandedToThreads) {
  Launches launches;
  fakeStep = 100;
  launches.run(8);
  launches.run(8);
  EXPECT_EQ(launches.asked, 1);
  fakeStep = 6000;
  launches.run(8); // three programs alone, of which two count, then the rest
  EXPECT_EQ(launches.asked, 2);
  launches.run(8); // 48 us by the last measurement
  EXPECT_EQ(launches.asked, 3);
  fakeStep = 100;
  launches.run(8); // measured again
  EXPECT_EQ(launches.asked, 4);
  launches.run(8);
  EXPECT_EQ(launches.asked, 4);
}

// Another process may have had the core: the grid stays small.
TEST(CpuDevice, OnePauseDoesNotMakeAGridLarge) {
  Launches launches;
  fakeStep = 100;
  launches.run(8);
  for (int pause = 0; pause < 9; ++pause) {
    looksBeforePause = pause;
    launches.run(8);
    launches.run(8);
    EXPECT_EQ(launches.asked, 1) << pause;
  }
  looksBeforePause = -1;
}

TEST(CpuDevice, AnEstimateIsTheTimeOfOneProgram) {
  WorkEstimate work;
  EXPECT_FALSE(work.isSmall(1));
  work.measured(4, 400);
  EXPECT_TRUE(work.isSmall(100)); // 10 us
  EXPECT_FALSE(work.isSmall(101));
  work.measured(1, 10001);
  EXPECT_FALSE(work.isSmall(1));
  work.measured(1000000, 0);
  EXPECT_TRUE(work.isSmall(1000000));
  work.measured(1, UINT64_MAX);
  EXPECT_FALSE(work.isSmall(1));
}

TEST(CpuDevice, TooLargeGridIsAnError) {
  const CpuModule module(fixture(), "tessera_entry");
  EXPECT_THROW(static_cast<void>(runGrid(
                   module, nullptr, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0)),
               Error);
}

// Descriptor numbers repeat after a close; the loader must not take a second
// kernel for the first.
TEST(CpuDevice, EachModuleIsItsOwn) {
  std::set<void *> entries;
  std::vector<std::unique_ptr<CpuModule>> modules;
  for (int i = 0; i < 40; ++i) {
    modules.push_back(std::make_unique<CpuModule>(fixture(), "tessera_entry"));
    entries.insert(reinterpret_cast<void *>(modules.back()->entry()));
  }
  EXPECT_EQ(entries.size(), 40u);
}

TEST(CpuDevice, BadCodeIsAnError) {
  EXPECT_THROW(CpuModule("not an ELF file", "tessera_entry"), Error);
  EXPECT_THROW(CpuModule("", "tessera_entry"), Error);
  EXPECT_THROW(CpuModule(fixture(), "another_symbol"), Error);
}
