// tests/unit/runtime/PreparedLaunchTest.cpp - tests of PreparedLaunch of
// runtime/Kernel.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are "compiled" by the fake worker, as in KernelTest.cpp: its artifact
// records the slots it was given.
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "support/Error.h"
#include "tests/unit/support/Allocations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <thread>

using namespace tessera;

namespace {

const char *const preparedSource = R"(import triton
import triton.language as tl


# tessera: cpu(BM=32)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BM"] == 0})
@triton.jit
def record(out, n, x, BM: tl.constexpr, EVEN: tl.constexpr, BN: tl.constexpr = 16):
    tl.store(out, n)


@triton.jit
def plain(out, n, x, B: tl.constexpr = 4, T: tl.constexpr = tl.float32):
    tl.store(out, n)


@triton.jit
def wide(out, n, a, b, c, d, e, f, g, h, i, j, k, l, x, y, D: tl.constexpr, E: tl.constexpr):
    tl.store(out, n)
)";

struct Launched {
  explicit Launched(size_t programs = 1) : out(6 * programs + 2) {}
  // The address of the first slot, or one that is `shift` slots (8 bytes each)
  // later.
  Pointer pointer(int shift = 0) { return {out.data() + shift, DType::I64}; }
  alignas(16) std::vector<int64_t> out;
};

int64_t float32Bits(float value) { return std::bit_cast<uint32_t>(value); }

template <typename F>
std::string failureOf(F &&function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

template <typename F>
uint64_t allocationsOf(F &&function) {
  const uint64_t before = allocationsOfThread();
  function();
  return allocationsOfThread() - before;
}

} // namespace

// The example of docs/runtime.md.
TEST(PreparedLaunch, Example) {
  Launched launched(2);
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "plain"),
                              {{"T", DType::FP32}});
  for (int64_t n : {7, 8, 9}) {
    const Arg args[] = {launched.pointer(), n, 2.5};
    const Dimension dimensions[] = {{"B", 8}};
    const int64_t tile = launch.constexprOf("B", args, dimensions);
    launch.launch({uint32_t(16 / tile), 1, 1}, args, dimensions);
    EXPECT_EQ(launched.out[3], n);
    EXPECT_EQ(launched.out[6 + 3], n);
    EXPECT_EQ(launched.out[4], float32Bits(2.5f));
  }
}

// Call sites share the kernel's table: what they were made with is in the key.
TEST(PreparedLaunch, CallSitesKeepTheirConstexprs) {
  Launched launched;
  const Kernel kernel = Kernel::fromSource(preparedSource, "plain");
  const PreparedLaunch eight(kernel, {{"B", int64_t(8)}}),
      sixteen(kernel, {{"B", int64_t(16)}});
  const Arg args[] = {launched.pointer(), int64_t(7), 2.5};
  EXPECT_EQ(eight.constexprOf("B", args, {}), 8);
  EXPECT_EQ(sixteen.constexprOf("B", args, {}), 16);
  EXPECT_EQ(eight.constexprOf("B", args, {}), 8);
}

TEST(PreparedLaunch, AllocatesNothingOnceItWasMade) {
  Launched launched(40);
  for (const Grid &grid : {Grid{1, 1, 1}, Grid{5, 2, 4}}) {
    for (const char *name : {"plain", "record"}) {
      const PreparedLaunch launch(Kernel::fromSource(preparedSource, name));
      const auto launches = [&] {
        for (int64_t i = 0; i < 100; ++i) {
          const int64_t n = 2 + i % 7;
          const Arg args[] = {launched.pointer(i % 2), n, double(i)};
          const Dimension dimensions[] = {{"BM", 32 + i % 3}, {"B", 4 + i % 3}};
          const bool plain = launch.kernel().name() == "plain";
          launch.launch(grid, args, {dimensions + (plain ? 1 : 0), 1});
          ASSERT_EQ(launched.out[size_t(i % 2 + 3)], n);
        }
      };
      launches();
      EXPECT_EQ(allocationsOf(launches), 0u) << name << " " << grid[0];
    }
  }
}

TEST(PreparedLaunch, KernelsLaunchesAllocateNothingEither) {
  Launched launched;
  const Kernel kernel = Kernel::fromSource(preparedSource, "plain");
  const std::vector<Arg> args = {launched.pointer(), int64_t(7), 2.5};
  const Constexprs constexprs = {{"B", int64_t(8)}, {"T", DType::BF16}};
  const auto launch = [&] { kernel.launch({1, 1, 1}, args, constexprs); };
  launch();
  EXPECT_EQ(allocationsOf(launch), 0u);
}

TEST(PreparedLaunch, SixteenArguments) {
  std::vector<int64_t> out(18);
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "wide"));
  std::vector<Arg> args = {Pointer{out.data(), DType::I64}};
  for (int64_t i = 2; i < 15; ++i)
    args.push_back(i);
  args.insert(args.end(), {0.5, 0.25});
  const Dimension dimensions[] = {{"D", 64}, {"E", 128}};
  const auto run = [&] { launch.launch({1, 1, 1}, args, dimensions); };
  run();
  EXPECT_EQ(allocationsOf(run), 0u);
  EXPECT_EQ(out[3], 2);
  EXPECT_EQ(out[4], 3);
}

// Launches of one PreparedLaunch that need different code: the integer 1 has no
// slot.
TEST(PreparedLaunch, EveryClassHasItsOwnCode) {
  Launched launched;
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "plain"));
  const uint64_t before = kernelStats().compiled;
  for (int round = 0; round < 3; ++round)
    for (int shift : {0, 1})
      for (int64_t n :
           {int64_t(1), int64_t(7), int64_t(16), int64_t(1) << 40}) {
        const Arg args[] = {launched.pointer(shift), n, 2.5};
        const Dimension dimensions[] = {{"B", 77}};
        launch.launch({1, 1, 1}, args, dimensions);
        EXPECT_EQ(launched.out[size_t(shift + 3)],
                  n == 1 ? float32Bits(2.5f) : n);
      }
  EXPECT_EQ(kernelStats().compiled - before, 8u);
}

// The same code, however its constexprs are given.
TEST(PreparedLaunch, SharesCodeWithTheKernel) {
  Launched launched;
  const Kernel kernel = Kernel::fromSource(preparedSource, "plain");
  const std::vector<Arg> args = {launched.pointer(), int64_t(7), 2.5};
  kernel.launch({1, 1, 1}, args, {{"B", int64_t(55)}, {"T", DType::I8}});
  const KernelStats before = kernelStats();
  const PreparedLaunch mixed(kernel, {{"T", DType::I8}}),
      fixed(kernel, {{"T", DType::I8}, {"B", int64_t(55)}});
  const Dimension dimensions[] = {{"B", 55}};
  mixed.launch({1, 1, 1}, args, dimensions);
  fixed.launch({1, 1, 1}, args);
  EXPECT_EQ(kernelStats().compiled, before.compiled);
  EXPECT_EQ(kernelStats().loaded, before.loaded);
  EXPECT_EQ(kernelStats().memoryHits, before.memoryHits + 2);
}

TEST(PreparedLaunch, ConstexprsOfTheConfiguration) {
  Launched launched;
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "record"));
  const Arg args[] = {launched.pointer(), int64_t(64), 2.5};
  const uint64_t before = kernelStats().compiled;
  EXPECT_EQ(launch.constexprOf("BM", args), 32);
  EXPECT_EQ(launch.constexprOf("BN", args), 16);
  const Dimension dimensions[] = {{"BM", 128}};
  EXPECT_EQ(launch.constexprOf("BM", args, dimensions), 128);
  EXPECT_EQ(kernelStats().compiled, before);
  for (const char *name : {"BK", "EVEN"})
    EXPECT_TRUE(contains(failureOf([&] { launch.constexprOf(name, args); }),
                         std::string("no configuration of ") + name));
}

// More values than a kernel with heuristics remembers.
TEST(PreparedLaunch, HeuristicsOfManyValues) {
  Launched launched;
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "record"));
  const uint64_t before = kernelStats().compiled;
  for (int64_t n = 1000; n < 2200; ++n) {
    const Arg args[] = {launched.pointer(), n, 2.5};
    launch.launch({1, 1, 1}, args);
    ASSERT_EQ(launched.out[3], n);
  }
  // Divisible by 32, by 16 alone, by neither.
  EXPECT_LE(kernelStats().compiled - before, 3u);
}

TEST(PreparedLaunch, MistakesAreErrorsEveryTime) {
  Launched launched;
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "plain"));
  const Arg args[] = {launched.pointer(), int64_t(7), 2.5};
  const Dimension dimensions[] = {{"b", 4}};
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(
        contains(failureOf([&] { launch.launch({1, 1, 1}, {args, 2}); }),
                 "takes 3 arguments, not 2"));
    EXPECT_TRUE(
        contains(failureOf([&] { launch.launch({1, 1, 1}, args, dimensions); }),
                 "did you mean `B`?"));
  }
  launch.launch({1, 1, 1}, args);
  EXPECT_EQ(launched.out[3], 7);
}

TEST(PreparedLaunch, FollowsTheDefaultDevice) {
  Launched launched;
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "plain"));
  const Arg args[] = {launched.pointer(), int64_t(7), 2.5};
  launch.launch({1, 1, 1}, args);
  setDefaultDevice("sim:sm_80");
  // The fake worker makes no PTX.
  EXPECT_TRUE(contains(failureOf([&] { launch.launch({1, 1, 1}, args); }),
                       "for sim:sm_80 has no PTX"));
  setDefaultDevice("cpu");
  launched.out[3] = 0;
  launch.launch({1, 1, 1}, args);
  EXPECT_EQ(launched.out[3], 7);
}

// Neither the kernel object nor the cache on disk is needed any more.
TEST(PreparedLaunch, CodeStaysWhenTheCacheIsCleared) {
  Launched launched;
  const Arg args[] = {launched.pointer(), int64_t(7), 2.5};
  const Dimension dimensions[] = {{"B", 91}};
  auto kernel =
      std::make_unique<Kernel>(Kernel::fromSource(preparedSource, "plain"));
  const PreparedLaunch launch(*kernel);
  launch.launch({1, 1, 1}, args, dimensions);
  kernel.reset();
  std::filesystem::remove_all(
      runtime::CompileService::environmentSettings().cacheFolder);
  const uint64_t before = kernelStats().compiled;
  // Others load and compile meanwhile, and the table grows.
  for (int64_t block = 200; block < 240; ++block) {
    const Dimension other[] = {{"B", block}};
    launch.launch({1, 1, 1}, args, other);
  }
  EXPECT_EQ(kernelStats().compiled, before + 40);
  launched.out[3] = 0;
  launch.launch({1, 1, 1}, args, dimensions);
  EXPECT_EQ(launched.out[3], 7);
  EXPECT_EQ(kernelStats().compiled, before + 40);
}

// Threads that launch, and compile for the first time, from one PreparedLaunch.
TEST(PreparedLaunch, ManyThreadsLaunchAndCompile) {
  const PreparedLaunch launch(Kernel::fromSource(preparedSource, "plain"));
  const uint64_t before = kernelStats().compiled;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Launched launched(3);
      for (int64_t i = 0; i < 300; ++i) {
        const Arg args[] = {launched.pointer(), 7 + t, 2.5};
        const Dimension dimensions[] = {{"B", 3000 + (i + t) % 6}};
        launch.launch({3, 1, 1}, args, dimensions);
        for (size_t program = 0; program < 3; ++program)
          ASSERT_EQ(launched.out[6 * program + 3], 7 + t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(kernelStats().compiled - before, 6u);
}
