// tests/unit/bench/WorkTest.cpp - the work of attention, pair by pair.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Work.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

models::NsaGeometry geometry(int64_t l, int64_t d, int64_t selection,
                             int64_t selected, int64_t window) {
  models::NsaGeometry nsa;
  nsa.blockLength = l;
  nsa.stride = d;
  nsa.selectionLength = selection;
  nsa.selectedBlocks = selected;
  nsa.window = window;
  return nsa;
}

const models::NsaGeometry geometries[] = {geometry(32, 16, 64, 16, 512),
                                          geometry(16, 8, 32, 3, 20),
                                          geometry(4, 4, 8, 1, 1)};

} // namespace

TEST(Work, PairsAreThoseThatAreSeen) {
  for (const models::NsaGeometry &nsa : geometries)
    for (const int64_t tokens : {1, 7, 64, 65, 300}) {
      double dense = 0, compressed = 0, selected = 0, window = 0;
      for (int64_t t = 0; t < tokens; ++t) {
        // Selects the token's own block and, from the first on, as many
        // complete blocks as the limit allows.
        const int64_t own = t / nsa.selectionLength;
        for (int64_t key = 0; key <= t; ++key) {
          const int64_t block = key / nsa.selectionLength;
          dense += 1;
          window += t - key < nsa.window;
          selected += block == own || block < nsa.selectedBlocks - 1;
        }
        for (int64_t i = 0; i * nsa.stride + nsa.blockLength <= t + 1; ++i)
          compressed += 1;
      }
      EXPECT_EQ(bench::densePairs(tokens), dense);
      EXPECT_EQ(bench::compressedPairs(nsa, tokens), compressed);
      EXPECT_EQ(bench::selectedPairs(nsa, tokens), selected)
          << tokens << " tokens, " << nsa.selectedBlocks << " blocks";
      EXPECT_EQ(bench::windowPairs(nsa, tokens), window);
    }
}

TEST(Work, NothingIsSelectedWhereTheBranchIsOff) {
  EXPECT_EQ(bench::selectedPairs(geometry(16, 8, 32, 0, 16), 100), 0);
  EXPECT_EQ(bench::windowPairs(geometry(16, 8, 32, 2, 0), 100), 0);
}

TEST(Work, ProductsOfTheKernels) {
  models::ModelConfig config;
  config.heads = 3;
  config.keyDim = 40;
  config.valueDim = 24;
  config.nsa = geometries[1];
  const double pairs = bench::windowPairs(config.nsa, 100);
  EXPECT_EQ(bench::kernelFlop("window_fwd", config, 100),
            2 * 3 * pairs * (40 + 24));
  EXPECT_EQ(bench::kernelFlop("window_bwd_dq", config, 100),
            2 * 3 * pairs * (2 * 40 + 24));
  EXPECT_EQ(bench::kernelFlop("window_bwd_dkdv", config, 100),
            2 * 3 * pairs * (2 * 40 + 2 * 24));
  EXPECT_EQ(bench::kernelFlop("score_select", config, 100),
            2 * 3 * bench::compressedPairs(config.nsa, 100) * 40);
  EXPECT_EQ(bench::kernelFlop("cmp_select_fwd", config, 100),
            2 * 3 * bench::compressedPairs(config.nsa, 100) * (40 + 24));
  EXPECT_EQ(bench::kernelFlop("select_list_fwd", config, 100),
            2 * 3 * bench::selectedPairs(config.nsa, 100) * (40 + 24));
  EXPECT_EQ(bench::kernelFlop("dense_fwd", config, 100),
            2 * 3 * bench::densePairs(100) * (40 + 24));
  EXPECT_EQ(bench::kernelFlop("gate_fwd", config, 100), 0);
  EXPECT_EQ(bench::kernelFlop("nothing_we_have", config, 100), 0);
}

TEST(Work, CompleteAttention) {
  models::ModelConfig config;
  config.heads = 2;
  config.keyDim = 16;
  config.valueDim = 8;
  config.nsa = geometries[1];
  double forward = 0;
  for (const char *kernel : {"cmp_fwd", "select_fwd", "window_fwd"})
    forward += bench::kernelFlop(kernel, config, 90);
  EXPECT_EQ(bench::nsaFlop(config, 90, false), forward);
  EXPECT_EQ(bench::denseFlop(config, 90, false),
            bench::kernelFlop("dense_fwd", config, 90));
  // q k^T and dv, dp = do v^T, dq, dk.
  EXPECT_EQ(bench::denseFlop(config, 90, true),
            2 * 2 * bench::densePairs(90) * (3 * 16 + 2 * 8));
}
