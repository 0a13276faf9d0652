// tests/unit/trainer/data/BatchesTest.cpp - windows as tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Batches.h"

#include "tests/unit/trainer/TestFolder.h"
#include "trainer/loop/Random.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

using namespace tessera;
using namespace tessera::trainer;

namespace {

std::string counting(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i)
    text[i] = char(i * 31 % 256);
  return text;
}

Config configFor(const std::string &path) {
  Config c;
  c.dataPath = path;
  c.sequenceLength = 8;
  c.batchSize = 3;
  return c;
}

TEST(Windows, DependOnSeedAndNumberOnly) {
  const TestFolder folder;
  Config c = configFor(folder.write("a.txt", counting(5000)));
  const Corpus corpus = loadCorpus(c);
  const Batch three = trainingBatch(corpus, c, 4);
  c.batchSize = 1;
  const Batch second = trainingBatch(corpus, c, 5);
  EXPECT_TRUE(at::equal(three.inputs[1], second.inputs[0]));
  EXPECT_TRUE(
      at::equal(three.inputs.slice(1, 1), three.targets.slice(1, 0, 7)));
  c.seed = 2;
  EXPECT_FALSE(at::equal(trainingBatch(corpus, c, 5).inputs, second.inputs));
}

TEST(Windows, ReachBothEndsOfTheText) {
  const TestFolder folder;
  Config c = configFor(folder.write("a.txt", counting(200)));
  Corpus corpus = loadCorpus(c);
  corpus.training = TokenStore("ABCDEFGHIJ"); // windows of 9 bytes: two
  c.batchSize = 64;
  const at::Tensor first = trainingBatch(corpus, c, 0).inputs.select(1, 0);
  EXPECT_TRUE((first == 'A').any().item<bool>());
  EXPECT_TRUE((first == 'B').any().item<bool>());
  EXPECT_TRUE((first <= 'B').all().item<bool>());
}

TEST(Windows, OfTheHeldOutPartDoNotOverlap) {
  const TestFolder folder;
  const Config c = configFor(folder.write("a.txt", counting(2000)));
  const Corpus corpus = loadCorpus(c);
  EXPECT_EQ(heldOutWindows(corpus, c), 12); // 100 bytes
  const auto heldOut = [&](int64_t at) {
    int64_t token = 0;
    corpus.heldOut.read(at, 1, &token);
    return token;
  };
  const Batch all = heldOutBatch(corpus, c, 0, 12, 12);
  EXPECT_EQ(all.inputs[1][0].item<int64_t>(), heldOut(8));
  EXPECT_EQ(all.targets[11][7].item<int64_t>(), heldOut(96));
}

TEST(Random, IsUniformAndDependsOnBothNumbers) {
  std::map<uint64_t, int> counts;
  for (uint64_t i = 0; i < 70000; ++i)
    ++counts[randomBelow(3, i, 7)];
  ASSERT_EQ(counts.size(), 7u);
  for (const auto &[value, count] : counts) {
    EXPECT_LT(value, 7u);
    EXPECT_NEAR(count, 10000, 500);
  }
  EXPECT_NE(randomBits(1, 2), randomBits(2, 1));
  EXPECT_NE(randomBits(1, 1), randomBits(1, uint64_t(1) << 32));
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i)
    sum += randomUnit(9, i);
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

} // namespace
