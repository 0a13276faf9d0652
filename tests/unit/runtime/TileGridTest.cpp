// tests/unit/runtime/TileGridTest.cpp - tests of runtime/launch/TileGrid.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/TileGrid.h"

#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

std::string text(const TileGrid &result) {
  if (!result.grid)
    return result.why;
  const Grid &grid = *result.grid;
  return std::to_string(grid[0]) + " " + std::to_string(grid[1]) + " " +
         std::to_string(grid[2]);
}

class TileGridTest : public testing::Test {
protected:
  // The grid of a kernel with this body, launched as 8 x 3 x 2 with BM=32 and
  // D=64, when it is launched with other tiles.
  std::string grid(const std::string &body, const Sizes &tiles,
                   const std::string &hint = "") {
    const std::string file =
        (folder.path() / ("k" + std::to_string(count++) + ".py")).string();
    writeFile(file, "import triton\nimport triton.language as tl\n\n\n"
                    "@triton.jit\ndef tile_of(n, pid, BM: tl.constexpr):\n"
                    "    return pid * BM\n\n\n" +
                        hint +
                        "\n@triton.jit\ndef f(X, Y, n, s, D: tl.constexpr, "
                        "BM: tl.constexpr):\n" +
                        body);
    KnownLaunch launch;
    launch.grid = {8, 3, 2};
    launch.sizes = {{"BM", 32}, {"D", 64}, {"n", 250}};
    return text(gridWithTiles(*describeKernel(file, "f"), launch, tiles));
  }

  TemporaryFolder folder;
  int count = 0;
};

std::string ours(const std::string &file, const std::string &kernel,
                 const Grid &grid, const Sizes &sizes, const Sizes &tiles) {
  return text(gridWithTiles(
      *describeKernel(std::string(TESSERA_SOURCE) + "/kernels/" + file, kernel),
      {grid, sizes}, tiles));
}

} // namespace

TEST_F(TileGridTest, SmallerTilesNeedMorePrograms) {
  const std::string body = "    x = tl.program_id(0).to(tl.int64) * BM\n"
                           "    h = tl.program_id(1)\n"
                           "    tl.store(Y + x + h * s, 1.0)\n";
  EXPECT_EQ(grid(body, {{"BM", 16}}), "16 3 2");
  EXPECT_EQ(grid(body, {{"BM", 64}}), "4 3 2");
  EXPECT_EQ(grid(body, {{"BM", 48}}), "6 3 2"); // 256 elements in tiles of 48
  EXPECT_EQ(grid(body, {{"D", 16}}), "8 3 2");
  EXPECT_EQ(grid("    pid = tl.program_id(0)\n    x = pid * (BM * 2)\n"
                 "    tl.store(Y + x, 1.0)\n",
                 {{"BM", 16}}),
            "16 3 2");
}

// A wrong grid would give wrong results at best: rather none.
TEST_F(TileGridTest, ReportsWhatCannotBeRead) {
  for (const char *body :
       {"    pid = tl.program_id(0)\n    x = pid // (n // BM)\n"
        "    tl.store(Y + x, 1.0)\n",
        "    tiles = tl.cdiv(n, BM)\n    x = tl.program_id(0) % tiles\n"
        "    tl.store(Y + x, 1.0)\n",
        "    x = tile_of(n, tl.program_id(0), BM)\n    tl.store(Y + x, 1.0)\n",
        "    y = tl.program_id(0) + 1\n    x = y * BM\n"
        "    tl.store(Y + x, 1.0)\n"})
    EXPECT_NE(grid(body, {{"BM", 16}}).find("add a hint"), std::string::npos)
        << body;
}

TEST_F(TileGridTest, ResultsOfAProgramEachKeepTheGrid) {
  const std::string body = "    x = tl.program_id(0) * BM\n"
                           "    tl.store(X + x, 1.0)\n"
                           "    tl.store(Y + tl.program_id(0) * D, 1.0)\n";
  EXPECT_NE(grid(body, {{"BM", 16}}).find("another shape"), std::string::npos);
  EXPECT_NE(grid(body, {{"BM", 16}}, "# tessera: grid(cdiv(n, BM), 3, 2)")
                .find("another shape"),
            std::string::npos);
  EXPECT_EQ(grid(body, {{"BM", 32}}), "8 3 2");
}

// The hint knows the true size: 250 elements, no empty program at the end.
TEST_F(TileGridTest, AHintThatFitsTheLaunchComesFirst) {
  const std::string body = "    pid = tl.program_id(0)\n"
                           "    x = pid // (n // BM)\n"
                           "    tl.store(Y + x, 1.0)\n";
  EXPECT_EQ(grid(body, {{"BM", 4}}, "# tessera: grid(cdiv(n, BM), H, 2)"),
            "63 3 2");
  // The launch grid is 4 x 3 x 2, which the hint does not give.
  EXPECT_NE(grid(body, {{"BM", 4}}, "# tessera: grid(cdiv(n, 2 * BM), 3, 2)")
                .find("add a hint"),
            std::string::npos);
}

TEST_F(TileGridTest, OurKernels) {
  // 500 tokens of three sequences in tiles of 21 and of 10 tokens.
  const Sizes sizes = {{"BM", 64},  {"BN", 32},     {"G", 3},     {"T", 500},
                       {"B", 3},    {"TC", 120},    {"LSEL", 64}, {"nblk", 10},
                       {"NSEL", 2}, {"CHUNK", 128}, {"parts", 3}};
  const Sizes tiles = {{"BM", 32}, {"BN", 64}};
  EXPECT_EQ(ours("dense/attn_fwd.py", "dense_fwd", {26, 2, 1}, sizes, tiles),
            "53 2 1");
  EXPECT_EQ(
      ours("nsa/window_bwd.py", "window_bwd_dkdv", {2, 18, 1}, sizes, tiles),
      "2 10 1");
  EXPECT_EQ(ours("nsa/cmp_bwd.py", "cmp_bwd_dkdv", {2, 18, 1}, sizes, tiles),
            "2 12 1");
  EXPECT_EQ(ours("nsa/select_bwd_dkdv.py", "select_bwd_dkdv", {2, 34, 1}, sizes,
                 tiles),
            "2 17 1");
  EXPECT_EQ(ours("nsa/select_fwd.py", "select_fwd", {503, 2, 1}, {{"BN", 32}},
                 {{"BN", 64}}),
            "503 2 1");
  // A row of the partial sums for each program.
  EXPECT_NE(ours("nsa/compress_bwd.py", "compress_bwd_dw", {7, 2, 1},
                 {{"BC", 32}, {"TC", 120}, {"B", 3}}, {{"BC", 16}})
                .find("add a hint"),
            std::string::npos);
  EXPECT_EQ(ours("nn/rmsnorm_bwd.py", "rmsnorm_bwd", {16, 1, 1},
                 {{"BR", 4}, {"STEPS", 16}}, {{"BR", 16}, {"STEPS", 4}}),
            "16 1 1");
  EXPECT_NE(ours("nn/rmsnorm_bwd.py", "rmsnorm_bwd", {16, 1, 1},
                 {{"BR", 4}, {"STEPS", 16}}, {{"BR", 16}})
                .find("another shape"),
            std::string::npos);
}
