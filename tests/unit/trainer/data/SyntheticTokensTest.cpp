// tests/unit/trainer/data/SyntheticTokensTest.cpp - any part is that of the
// row, and the shares are those that were asked for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/SyntheticTokens.h"

#include "trainer/data/TokenSource.h"
#include "trainer/settings/Config.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tessera::trainer;

namespace {

std::vector<int64_t> readTokens(const SyntheticTokens &t, int64_t first,
                                int64_t count) {
  std::vector<int64_t> tokens(static_cast<size_t>(count));
  t.read(first, count, tokens.data());
  return tokens;
}

TEST(SyntheticTokens, APartIsThatOfTheRow) {
  for (const double noise : {0.0, 0.1, 1.0}) {
    const SyntheticTokens t{7, 50, noise};
    const std::vector<int64_t> row = readTokens(t, 0, 3000);
    for (const int64_t first : {1, 255, 256, 257, 1000, 2999}) {
      const std::vector<int64_t> part = readTokens(t, first, 3000 - first);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), row.begin() + first))
          << first;
    }
    // Also far beyond 2^32.
    const int64_t far = (int64_t(1) << 40) + 77;
    EXPECT_EQ(readTokens(t, far, 100)[60], readTokens(t, far + 60, 1)[0]);
  }
}

TEST(SyntheticTokens, AShareFollowsFromTheTokenBefore) {
  const SyntheticTokens t{3, 20, 0.3};
  const std::vector<int64_t> row = readTokens(t, 0, 200000);
  std::map<int64_t, std::map<int64_t, double>> behind;
  for (size_t i = 1; i < row.size(); ++i)
    behind[row[i - 1]][row[i]] += 1;
  ASSERT_EQ(behind.size(), 20u);
  std::set<int64_t> successors;
  double bits = 0;
  for (const auto &[token, next] : behind) {
    double all = 0, most = 0;
    for (const auto &[other, count] : next) {
      all += count;
      if (count > most) {
        most = count;
        successors.insert(other);
      }
    }
    EXPECT_NEAR(most / all, 0.7 + 0.3 / 20, 0.02) << token;
    for (const auto &[other, count] : next)
      bits -= count / double(row.size()) * std::log2(count / all);
  }
  EXPECT_EQ(successors.size(), 20u); // each its own
  EXPECT_NEAR(bits, t.entropy(), 0.03);
}

TEST(SyntheticTokens, DrawnOnesAreUniform) {
  const SyntheticTokens t{5, 16, 1};
  EXPECT_DOUBLE_EQ(t.entropy(), 4);
  std::vector<double> counts(16);
  for (const int64_t token : readTokens(t, 12345, 160000))
    counts.at(size_t(token)) += 1;
  for (const double count : counts)
    EXPECT_NEAR(count, 10000, 500); // five deviations
}

/// Processes that share a batch get other sequences, each the same every time,
/// and other ones with another seed.
TEST(SyntheticTokens, RanksHaveTokensOfTheirOwn) {
  const auto batches = [](int64_t rank, const std::string &seed) {
    Config c = parseConfig("", "x",
                           {"data.source=synthetic", "train.seq_len=32",
                            "train.batch_size=4", "data.prefetch=0",
                            "train.seed=" + seed},
                           {}, 2);
    const Corpus corpus = loadCorpus(c);
    TokenSource source(corpus, c, 0, rank, 2);
    std::vector<int64_t> all;
    for (int i = 0; i < 4; ++i) {
      const TokenBatch batch = source.next();
      all.insert(all.end(), batch.inputs.begin(), batch.inputs.end());
    }
    return all;
  };
  EXPECT_EQ(batches(0, "1"), batches(0, "1"));
  EXPECT_NE(batches(0, "1"), batches(1, "1"));
  EXPECT_NE(batches(0, "1"), batches(0, "2"));
}

} // namespace
