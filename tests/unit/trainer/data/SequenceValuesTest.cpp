// tests/unit/trainer/data/SequenceValuesTest.cpp - values of sequences, and the
// targets that a prefix removes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/SequenceValues.h"

#include "support/Error.h"
#include "trainer/data/TokenSource.h"
#include "trainer/settings/Config.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::trainer;

namespace {

constexpr int64_t none = noTarget;

/// Two windows of 6 tokens, 1 to 12; the target of each is the next number.
TokenBatch twoWindows() {
  TokenBatch batch;
  for (int64_t i = 1; i <= 12; ++i) {
    batch.inputs.push_back(i);
    batch.targets.push_back(i + 1);
  }
  return batch;
}

TokenBatch withValues(TokenBatch batch, const std::string &sources,
                      std::vector<int64_t> windows = {0, 1}, int64_t seed = 1) {
  Config config;
  config.perSequence = sources;
  config.seed = seed;
  SequenceValues(config).addTo(batch, windows);
  return batch;
}

using Values = std::vector<int32_t>;

TEST(SequenceValues, WithoutASourceABatchStaysAsItIs) {
  EXPECT_EQ(withValues(twoWindows(), ""), twoWindows());
}

TEST(SequenceValues, ComeFromANumberAndFromTokens) {
  const auto of = [](const std::string &sources) {
    return withValues(twoWindows(), sources).perSequence;
  };
  EXPECT_EQ(of("width=100"), (Values{100, 100}));
  EXPECT_EQ(of("width=before(9)"), (Values{0, 2}));
  EXPECT_EQ(of("width=through(9)"), (Values{0, 3}));
  EXPECT_EQ(of("width=before(1)"), (Values{0, 0}));
  EXPECT_EQ(of("width=through(1), other=3"), (Values{1, 0, 3, 3}));
  EXPECT_EQ(withValues(twoWindows(), "width=4").targets, twoWindows().targets);
}

// The token before the second part predicts its first token.
TEST(SequenceValues, APrefixRemovesTheTargetsInsideOfIt) {
  const TokenBatch batch = withValues(twoWindows(), "prefix=through(9)");
  EXPECT_EQ(batch.perSequence, (Values{0, 3}));
  EXPECT_EQ(batch.targets, (std::vector<int64_t>{2, 3, 4, 5, 6, 7, none, none,
                                                 10, 11, 12, 13}));
  EXPECT_EQ(withValues(twoWindows(), "prefix=1").targets, twoWindows().targets);
}

TEST(SequenceValues, APrefixLeavesATarget) {
  TokenBatch batch = twoWindows();
  batch.targets[11] = none; // the text ends
  batch = withValues(batch, "prefix=100");
  EXPECT_EQ(batch.perSequence, (Values{6, 5}));
  EXPECT_EQ(batch.targets,
            (std::vector<int64_t>{none, none, none, none, none, 7, none, none,
                                  none, none, 12, none}));
}

// Three documents and padding in two rows; an empty sequence at the end.
TEST(SequenceValues, PackedSequencesHaveTheirOwn) {
  TokenBatch batch = twoWindows();
  batch.starts = {0, 4, 6, 9, 12, 12};
  for (const size_t i : {3, 9, 10, 11})
    batch.targets[i] = none;
  const TokenBatch packed = withValues(batch, "prefix=3");
  EXPECT_EQ(packed.perSequence, (Values{3, 2, 3, 0, 0}));
  EXPECT_EQ(packed.targets,
            (std::vector<int64_t>{none, none, 4, none, none, 7, none, none, 10,
                                  none, none, none}));
  EXPECT_EQ(withValues(batch, "width=through(7)").perSequence,
            (Values{0, 0, 1, 0, 0}));
}

// As in T5, prefix and rest have at least one token. A window has the same draw
// in any batch.
TEST(SequenceValues, DrawsDependOnSeedAndWindowAlone) {
  std::set<int32_t> seen;
  for (int64_t i = 0; i < 200; ++i) {
    const Values both =
        withValues(twoWindows(), "prefix=uniform", {i, i + 1}).perSequence;
    const Values next =
        withValues(twoWindows(), "prefix=uniform", {i + 1, i + 2}).perSequence;
    EXPECT_EQ(both[1], next[0]);
    seen.insert(both[0]);
  }
  EXPECT_EQ(seen, (std::set<int32_t>{1, 2, 3, 4, 5, 6}));
  const auto draws = [](int64_t seed) {
    Values all;
    for (int64_t i = 0; i < 20; ++i)
      all.push_back(withValues(twoWindows(), "prefix=uniform", {i, i}, seed)
                        .perSequence[0]);
    return all;
  };
  EXPECT_NE(draws(1), draws(2));
  // Sequences of one row differ, too.
  TokenBatch packed = twoWindows();
  packed.starts = {0, 6, 12};
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (int64_t i = 0; i < 40; ++i) {
    TokenBatch row = packed;
    const Values drawn = withValues(row, "prefix=uniform", {i}).perSequence;
    pairs.insert({drawn[0], drawn[1]});
  }
  EXPECT_GT(pairs.size(), 12u);
}

TEST(SequenceValues, OfAPromptAreItsTokens) {
  const auto sources = readSequenceSources(
      "prefix=4, width=64, border=through(10), other=uniform");
  EXPECT_EQ(valuesOfPrompt(sources, 7), (Values{7, 64, 7, 7}));
}

TEST(SequenceValues, SourcesHaveOneSpelling) {
  for (const char *text : {"prefix=through(10), width=64", "prefix=before(0)",
                           "prefix=uniform", ""})
    EXPECT_EQ(sourcesText(readSequenceSources(text)), text);
  EXPECT_EQ(sourcesText(readSequenceSources(" prefix : through(010) ")),
            "prefix=through(10)");
}

TEST(SequenceValues, WrongSourcesAreRefused) {
  for (const char *text :
       {"prefix", "prefix=", "prefix=-1", "prefix=2000000000", "prefix=many",
        "prefix=through", "prefix=through()", "prefix=through(x)",
        "prefix=through(1", "prefix=before 3", "prefix=1, prefix=2"}) {
    try {
      readSequenceSources(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error &e) {
      EXPECT_NE(e.message.find("attention.per_sequence"), std::string::npos)
          << e.message;
      EXPECT_NE(e.hint, "");
    }
  }
}

} // namespace
