// tests/unit/autotune/search/SearchSpaceTest.cpp - tests of
// autotune/search/SearchSpace.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/SearchSpace.h"

#include "language/ConstexprValues.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include "runtime/launch/KernelState.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::tune;
namespace fs = std::filesystem;

namespace {

class SpaceTest : public testing::Test {
protected:
  // Of a kernel that was launched as 8 programs with BM=32, BN=16, D=64.
  SearchSpace space(const std::string &above, const Constexprs &given,
                    const std::string &body = "    x = tl.program_id(0) * BM\n"
                                              "    tl.store(X + x, D)\n",
                    bool gpu = false) {
    const std::string file =
        (folder.path() / ("k" + std::to_string(count++) + ".py")).string();
    writeFile(file, "import triton\nimport triton.language as tl\n\n\n" +
                        above +
                        "\n@triton.jit\ndef f(X, n, D: tl.constexpr, "
                        "BM: tl.constexpr, BN: tl.constexpr = 16):\n" +
                        body);
    runtime::KnownLaunch launch;
    launch.grid = {8, 1, 1};
    launch.sizes = {{"BM", 32}, {"BN", 16}, {"D", 64}};
    return (gpu ? gpuSearchSpace : cpuSearchSpace)(
        *runtime::describeKernel(file, "f"), launch, given,
        {{"D", int64_t(64)}, {"BM", int64_t(32)}, {"BN", int64_t(16)}});
  }

  static std::string text(const SearchSpace &space) {
    std::string result;
    for (const Candidate &candidate : space.candidates)
      result += describe(candidate.use) + " x" +
                std::to_string(candidate.grid[0]) + "; ";
    return result;
  }

  TemporaryFolder folder;
  int count = 0;
};

const Constexprs geometry = {{"D", int64_t(64)}};

// An instance of a kernel of ours, launched for 4096 tokens.
struct OwnLaunch {
  runtime::KnownLaunch known;
  Constexprs given, own;
};

OwnLaunch launchOf(const runtime::Description &kernel,
                   const language::Instance &instance) {
  OwnLaunch launch;
  runtime::Sizes &sizes = launch.known.sizes;
  sizes = {{"T", 4096},    {"TC", 255},  {"S", 2048},  {"B", 2},
           {"H", 2},       {"N", 4096},  {"nblk", 66}, {"V", 8192},
           {"span", 2048}, {"parts", 8}, {"shares", 2}};
  const std::vector<std::string> tunable = tunableNames(kernel);
  for (const language::Argument &argument : instance.arguments) {
    if (!argument.isConstexpr())
      continue;
    const std::string &name = argument.name;
    launch.own[name] = language::fromValue(name, argument.value);
    if (std::find(tunable.begin(), tunable.end(), name) == tunable.end())
      launch.given[name] = launch.own[name];
    if (const auto *number = std::get_if<int64_t>(&launch.own[name]))
      sizes[name] = *number;
  }
  launch.known.grid =
      kernel.info.hints.grid ? gridOf(kernel, sizes) : Grid{64, 2, 1};
  return launch;
}

} // namespace

TEST_F(SpaceTest, TheOwnChoiceThenByCostEachOnce) {
  EXPECT_EQ(text(space("# tessera: cpu(BM=32)\n# tessera: cpu(BM=64)\n"
                       "# tessera: space(BM=[16, 32], BN=[16, 32])\n"
                       "@triton.autotune(configs=[triton.Config({\"BM\": 64}, "
                       "num_warps=8), triton.Config({\"BM\": 128})], key=[])",
                       geometry)),
            "BM=32 BN=16 x8; BM=16 BN=16 x16; BM=16 BN=32 x16; "
            "BM=64 BN=16 x4; BM=32 BN=32 x8; BM=128 BN=16 x2; ");
  EXPECT_EQ(text(space("", {{"D", int64_t(64)}, {"BM", int64_t(32)}})),
            " x8; ");
}

TEST_F(SpaceTest, GpusHaveWarpsAndStages) {
  const std::string body = "    x = tl.program_id(0) * BM\n"
                           "    tl.store(X + x, D)\n";
  EXPECT_EQ(text(space("# tessera: cpu(BM=64)\n"
                       "# tessera: space(BM=[32, 128])\n"
                       "@triton.autotune(configs=[triton.Config({\"BM\": 32}, "
                       "num_warps=8, num_stages=2), triton.Config({\"BM\": "
                       "16}, num_stages=5)], key=[])",
                       geometry, body, true)),
            // The kernel's configuration, the decorator's ones and their
            // neighbours.
            "BM=32 x8; BM=16 num_warps=4 num_stages=5 x16; "
            "BM=32 num_warps=4 x8; BM=32 num_warps=16 x8; "
            "BM=32 num_stages=1 x8; BM=32 num_stages=3 x8; "
            "BM=16 num_warps=2 num_stages=5 x16; BM=16 num_stages=5 x16; "
            "BM=16 num_warps=4 num_stages=4 x16; "
            // Other tiles, the nearest first.
            "BM=64 x4; BM=64 num_warps=4 x4; BM=64 num_warps=16 x4; "
            "BM=128 x2; BM=128 num_warps=4 x2; BM=128 num_warps=16 x2; ");
  EXPECT_EQ(text(space("", geometry, body, true)),
            " x8; num_warps=2 x8; num_warps=8 x8; num_stages=2 x8; "
            "num_stages=4 x8; ");
  // Around one warp and one stage there is nothing below.
  EXPECT_EQ(text(space("@triton.autotune(configs=[triton.Config({\"BM\": 32}), "
                       "triton.Config({\"BM\": 16}, num_warps=1, "
                       "num_stages=1)], key=[])",
                       geometry, body, true)),
            "BM=32 x8; BM=16 num_warps=1 num_stages=1 x16; "
            "BM=32 num_warps=2 x8; BM=32 num_warps=8 x8; "
            "BM=32 num_stages=2 x8; BM=32 num_stages=4 x8; "
            "BM=16 num_warps=2 num_stages=1 x16; "
            "BM=16 num_warps=1 num_stages=2 x16; ");
}

// Tiles whose grid is unknown are left out once, whatever their warps; where
// that is the kernel's default configuration, there is nothing to compare with.
TEST_F(SpaceTest, GpusWithoutAGrid) {
  const std::string twice = "    x = tl.program_id(0) // BM\n"
                            "    tl.store(X + x, D)\n";
  const SearchSpace some =
      space("# tessera: space(BM=[32, 64])\n", geometry, twice, true);
  EXPECT_EQ(text(some), "BM=32 x8; BM=32 num_warps=2 x8; BM=32 num_warps=8 x8; "
                        "BM=32 num_stages=2 x8; BM=32 num_stages=4 x8; ");
  ASSERT_EQ(some.leftOut.size(), 1u);
  EXPECT_EQ(describe(some.leftOut[0].first), "BM=64");
}

TEST_F(SpaceTest, WhatTheCallerGivesStays) {
  EXPECT_EQ(text(space("# tessera: cpu(BM=32)\n# tessera: cpu(BM=64, BN=32)\n",
                       {{"D", int64_t(64)}, {"BM", int64_t(32)}})),
            "BN=16 x8; BN=32 x8; ");
}

TEST_F(SpaceTest, ConditionsSeeTheGeometry) {
  EXPECT_EQ(text(space("# tessera: space(BM=[16, 32, 64], BN=[16, 32], "
                       "where=BM * D <= 2048 and BN <= BM)\n",
                       geometry)),
            "BM=32 BN=16 x8; BM=16 BN=16 x16; BM=32 BN=32 x8; ");
  EXPECT_THROW(space("# tessera: space(BM=[16], where=NO < 3)\n", geometry),
               Error);
}

TEST_F(SpaceTest, AnUnknownGridLeavesTheCandidateOut) {
  const SearchSpace result =
      space("# tessera: space(BM=[16], BN=[32])\n# tessera: space(BN=[32])\n",
            geometry,
            "    x = tl.program_id(0) % (n // BM)\n    tl.store(X + x, D)\n");
  EXPECT_EQ(text(result), "BM=32 BN=16 x8; BM=32 BN=32 x8; ");
  ASSERT_EQ(result.leftOut.size(), 1u);
  EXPECT_EQ(describe(result.leftOut[0].first), "BM=16 BN=32");
  EXPECT_NE(result.leftOut[0].second.find("add a hint"), std::string::npos);
}

TEST_F(SpaceTest, AHelperThatReadsTheNumbersLeavesTheCandidateOut) {
  const SearchSpace result =
      space("# tessera: space(BM=[16], BN=[32])\n# tessera: space(BN=[32])\n",
            geometry, "    everything(X, n, D, BM)\n");
  EXPECT_EQ(text(result), "BM=32 BN=16 x8; BM=32 BN=32 x8; ");
  ASSERT_EQ(result.leftOut.size(), 1u);
  EXPECT_EQ(describe(result.leftOut[0].first), "BM=16 BN=32");
}

// Of every kernel of ours, as each of its instances launches it.
TEST(OurSearchSpaces, EachHasCandidatesWhoseGridsAreKnown) {
  // One result for each program: other tiles give results of another shape.
  const std::set<std::string> fixed = {"compress_bwd_dw", "sink_rows"};
  // Their tiles are those of the kernels that read what they write, or of their
  // scratch: warps, and steps that neither sees, are open.
  const std::set<std::string> ofOthers = {
      "cmp_select_fwd", "select_lists", "inverse_count",
      "inverse_fill",   "super_lists",  "decode_split",
      "decode_combine", "pool_keys",    "inverse_fill_bits"};
  size_t kernels = 0;
  for (const char *folder : {"nsa", "dense", "nn", "selection"})
    for (const auto &entry : fs::directory_iterator(fs::path(TESSERA_SOURCE) /
                                                    "kernels" / folder)) {
      if (entry.path().extension() != ".py")
        continue; // Python's __pycache__
      for (const std::string &name : runtime::kernelNames(entry.path())) {
        const auto kernel = runtime::describeKernel(entry.path(), name);
        for (const language::Instance &instance :
             kernel->info.hints.instances) {
          ++kernels;
          const OwnLaunch launch = launchOf(*kernel, instance);
          for (const bool gpu : {false, true}) {
            const SearchSpace found = (gpu ? gpuSearchSpace : cpuSearchSpace)(
                *kernel, launch.known, launch.given, launch.own);
            SCOPED_TRACE(instance.name + (gpu ? ", gpu" : ", cpu"));
            ASSERT_FALSE(found.candidates.empty());
            if (fixed.contains(name)) {
              EXPECT_FALSE(found.leftOut.empty());
              continue;
            }
            const bool tiled = !ofOthers.contains(name);
            EXPECT_GE(found.candidates.size(),
                      tiled ? (gpu ? 6u : 3u) : (gpu ? 4u : 1u));
            EXPECT_LE(found.candidates.size(), gpu ? 64u : 16u);
            for (const auto &[choice, why] : found.leftOut)
              ADD_FAILURE() << describe(choice) << ": " << why;
          }
        }
      }
    }
  EXPECT_GT(kernels, 40u);
}
