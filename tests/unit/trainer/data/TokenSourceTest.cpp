// tests/unit/trainer/data/TokenSourceTest.cpp - batches in order, ranks, the
// thread that reads ahead, the end of the data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TokenSource.h"

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::trainer;
using namespace std::chrono_literals;

namespace {

Corpus corpusOf(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i)
    text[i] = char(i);
  Corpus c;
  c.name = "counting";
  c.training = TokenStore(text);
  return c;
}

Config config() {
  Config c;
  c.sequenceLength = 4;
  c.batchSize = 6;
  c.steps = 5;
  c.dataOrder = DataOrder::Shuffled;
  return c;
}

void append(std::vector<int64_t> &all, const std::vector<int64_t> &more) {
  all.insert(all.end(), more.begin(), more.end());
}

TEST(TokenSource, ResumesFromItsState) {
  const Corpus corpus = corpusOf(201);
  for (const int64_t prefetch : {0, 3}) {
    Config c = config();
    c.dataPrefetch = prefetch;
    TokenSource straight(corpus, c, 0);
    std::vector<TokenBatch> batches;
    for (int i = 0; i < 20; ++i)
      batches.push_back(straight.next());
    EXPECT_EQ(straight.state(), 120);
    TokenSource first(corpus, c, 0);
    for (int i = 0; i < 7; ++i)
      EXPECT_EQ(first.next(), batches[size_t(i)]);
    EXPECT_EQ(first.state(), 42); // not what was read ahead
    TokenSource second(corpus, c, first.state());
    for (int i = 7; i < 20; ++i)
      EXPECT_EQ(second.next(), batches[size_t(i)]);
  }
}

TEST(TokenSource, RanksShareABatchWithoutOverlap) {
  const Corpus corpus = corpusOf(201);
  const Config c = config();
  TokenSource one(corpus, c, 0);
  for (const int64_t processes : {2, 3, 6}) {
    std::vector<std::unique_ptr<TokenSource>> ranks;
    for (int64_t rank = 0; rank < processes; ++rank)
      ranks.push_back(std::make_unique<TokenSource>(corpus, c, one.state(),
                                                    rank, processes));
    const TokenBatch whole = one.next();
    TokenBatch joined;
    for (auto &rank : ranks) {
      const TokenBatch part = rank->next();
      EXPECT_EQ(part.inputs.size(), whole.inputs.size() / size_t(processes));
      append(joined.inputs, part.inputs);
      append(joined.targets, part.targets);
      EXPECT_EQ(rank->state(), one.state());
    }
    EXPECT_EQ(joined, whole);
  }
}

TEST(TokenSource, APassHasEveryWindowOnce) {
  const Corpus corpus = corpusOf(4 * 30 + 1);
  TokenSource source(corpus, config(), 0);
  std::set<int64_t> firsts;
  for (int i = 0; i < 5; ++i) {
    const TokenBatch batch = source.next();
    for (size_t row = 0; row < 6; ++row) {
      const int64_t first = batch.inputs[row * 4];
      firsts.insert(first);
      for (size_t t = 0; t < 4; ++t) {
        EXPECT_EQ(batch.inputs[row * 4 + t], first + int64_t(t));
        EXPECT_EQ(batch.targets[row * 4 + t], first + int64_t(t) + 1);
      }
    }
  }
  EXPECT_EQ(firsts.size(), 30u);
}

// Rows of packed documents: each once in a pass, none by two processes, and a
// position is enough to go on from.
TEST(TokenSource, PackedRowsComeInTheSameOrders) {
  Corpus corpus = corpusOf(4 * 30);
  corpus.trainingRows = std::make_shared<const PackedRows>(corpus.training, 4);
  ASSERT_EQ(corpus.trainingRows->rows(), 30);
  for (const int64_t processes : {1, 2, 3})
    for (const DataOrder order : {DataOrder::Shuffled, DataOrder::Sequential}) {
      Config c = config();
      c.dataOrder = order;
      std::set<int64_t> firsts;
      for (int64_t rank = 0; rank < processes; ++rank) {
        TokenSource source(corpus, c, 0, rank, processes);
        for (int64_t i = 0; i < 5; ++i) {
          const TokenBatch batch = source.next();
          EXPECT_EQ(TokenSource(corpus, c, i * 6, rank, processes).next(),
                    batch);
          EXPECT_EQ(batch.starts.size(), batch.inputs.size() / 4 + 1);
          for (size_t row = 0; row < batch.inputs.size() / 4; ++row) {
            firsts.insert(batch.inputs[row * 4]);
            EXPECT_EQ(
                batch.inputs[row * 4],
                source.firstToken(i * 6 + rank * 6 / processes + int64_t(row)));
          }
        }
      }
      EXPECT_EQ(firsts.size(), 30u);
    }
}

TEST(TokenSource, TheEndOfTheDataIsKnownBeforeTheStart) {
  const Corpus corpus = corpusOf(4 * 30 + 1);
  Config c = config();
  c.dataEnd = DataEnd::Stop;
  EXPECT_NO_THROW(TokenSource(corpus, c, 0)); // 5 steps of 6: all 30
  c.steps = 6;
  try {
    TokenSource(corpus, c, 0);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("has 30 sequences of 4 tokens"), std::string::npos)
        << e.message;
    EXPECT_NE(e.hint.find("train.steps=5"), std::string::npos) << e.hint;
  }
  c.dataEnd = DataEnd::Repeat;
  EXPECT_NO_THROW(TokenSource(corpus, c, 0));
}

/// First tokens of the sequences of a batch, whose bytes count from 0 to 200.
std::vector<int64_t> firstsOf(const TokenBatch &batch, int64_t length) {
  std::vector<int64_t> firsts;
  for (size_t i = 0; i < batch.inputs.size(); i += size_t(length))
    firsts.push_back(batch.inputs[i]);
  return firsts;
}

Config scheduled() {
  Config c = config();
  c.sequenceLength = 8;
  c.batchSize = 2;
  c.dataOrder = DataOrder::Sequential;
  c.batchSchedule = {{2, 4}, {4, 2}};
  c.lengthSchedule = {{1, 2}, {3, 4}, {5, 8}};
  return c;
}

// Of 2, 4, 4, 2 and 2 sequences of 2, 2, 4, 4 and 8 tokens: a sequence begins
// at a multiple of its length.
TEST(TokenSource, FollowsSchedules) {
  using Tokens = std::vector<int64_t>;
  const Corpus corpus = corpusOf(201);
  const std::vector<Tokens> firsts = {{0, 2},   {4, 6, 8, 10}, {12, 16, 20, 24},
                                      {28, 32}, {40, 48},      {56, 64}};
  const std::vector<int64_t> lengths = {2, 2, 4, 4, 8, 8},
                             states = {2, 6, 14, 18, 28, 36};
  for (const int64_t prefetch : {0, 3}) {
    Config c = scheduled();
    c.dataPrefetch = prefetch;
    TokenSource source(corpus, c, 0);
    for (size_t i = 0; i < firsts.size(); ++i) {
      EXPECT_EQ(firstsOf(source.next(), lengths[i]), firsts[i]) << i;
      EXPECT_EQ(source.state(), states[i]);
      // A resumed run has the same next batch.
      if (i + 1 < firsts.size()) {
        TokenSource again(corpus, c, states[i], 0, 1, int64_t(i) + 1);
        EXPECT_EQ(firstsOf(again.next(), lengths[i + 1]), firsts[i + 1]);
      }
    }
  }
  Config two = scheduled();
  for (int64_t rank : {0, 1}) {
    TokenSource half(corpus, two, 0, rank, 2);
    for (size_t i = 0; i < firsts.size(); ++i) {
      const size_t count = firsts[i].size() / 2;
      const auto from = firsts[i].begin() + rank * long(count);
      EXPECT_EQ(firstsOf(half.next(), lengths[i]),
                Tokens(from, from + long(count)));
    }
  }
  // Two micro-batches of a step have its size.
  Config accumulated = scheduled();
  accumulated.accumulate = 2;
  TokenSource source(corpus, accumulated, 0);
  for (const size_t tokens : {4, 4, 8, 8, 16, 16, 8, 8})
    EXPECT_EQ(source.next().inputs.size(), tokens);
}

// In every order a pass with shorter sequences has each token once.
TEST(TokenSource, SchedulesKeepTheTokensOfAPass) {
  const Corpus corpus = corpusOf(201);
  Config c = scheduled();
  c.dataOrder = DataOrder::Shuffled;
  c.batchSize = 1;
  c.steps = 1000;
  c.batchSchedule = {};
  c.lengthSchedule = {{1, 2}, {9, 4}, {21, 8}};
  TokenSource source(corpus, c, 0);
  Config whole = c;
  whole.lengthSchedule = {};
  TokenSource windows(corpus, whole, 0);
  std::vector<int64_t> all, expected;
  while (all.size() < 200)
    append(all, source.next().inputs);
  while (expected.size() < 200)
    append(expected, windows.next().inputs);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 200u);
  // Bytes of sequences within a window: that of unit 3 is in the first window.
  EXPECT_EQ(source.firstToken(3), all[6]);
}

TEST(TokenSource, SchedulesEndWithTheData) {
  const Corpus corpus = corpusOf(201);
  Config c = scheduled();
  c.dataEnd = DataEnd::Stop;
  c.steps = 14;
  EXPECT_NO_THROW(TokenSource(corpus, c, 0)); // 40 + 10 * 16 tokens
  c.steps = 15;
  try {
    TokenSource(corpus, c, 0);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(e.hint.find("train.steps=14"), std::string::npos) << e.hint;
  }
}

TEST(Prefetch, KeepsTheOrderAndStaysBounded) {
  std::atomic<int> made = 0;
  {
    Prefetch<int> numbers([&] { return made++; }, 3);
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(numbers.next(60s), i);
  }
  EXPECT_LE(made, 100 + 4); // three kept, one in the making
}

TEST(Prefetch, AnErrorArrivesInOrder) {
  int calls = 0;
  Prefetch<int> numbers(
      [&] {
        if (calls == 2)
          throw Error("torn", "mend it");
        return calls++;
      },
      8);
  EXPECT_EQ(numbers.next(60s), 0);
  EXPECT_EQ(numbers.next(60s), 1);
  EXPECT_THROW(numbers.next(60s), Error);
  EXPECT_THROW(numbers.next(60s), Error);
}

// A disk that does not answer ends the wait, and not with a hang at the end.
TEST(Prefetch, WaitsOnlySoLong) {
  auto answer = std::make_shared<std::promise<int>>();
  auto left = std::make_shared<std::promise<void>>();
  {
    Prefetch<int> numbers(
        [answer, left] {
          const int value = answer->get_future().get();
          left->set_value();
          return value;
        },
        1);
    EXPECT_EQ(numbers.next(20ms), std::nullopt);
  }
  answer->set_value(1);
  left->get_future().wait();
}

} // namespace
