// tests/unit/trainer/DataTest.cpp - corpora good and bad, windows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Data.h"

#include "TestFolder.h"
#include "support/Error.h"
#include "trainer/Config.h"
#include "trainer/Random.h"

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

std::string refusal(const Config &c) {
  try {
    loadCorpus(c);
  } catch (const Error &e) {
    return e.message + "\n" + e.hint;
  }
  return "accepted";
}

TEST(Corpus, HoldsOutTheLastTwentieth) {
  const TestFolder folder;
  const std::string text = counting(1000);
  const Corpus c = loadCorpus(configFor(folder.write("a.txt", text)));
  EXPECT_EQ(c.training, text.substr(0, 950));
  EXPECT_EQ(c.heldOut, text.substr(950));
}

TEST(Corpus, JoinsAFolderInTheOrderOfNames) {
  const TestFolder folder;
  folder.write("text/b.txt", std::string(300, 'b'));
  folder.write("text/a/deep.txt", std::string(300, 'a'));
  folder.write("text/c", std::string(30, 'c'));
  const Corpus c = loadCorpus(configFor(folder.file("text")));
  EXPECT_EQ(c.training + c.heldOut, std::string(300, 'a') +
                                        std::string(300, 'b') +
                                        std::string(30, 'c'));
}

TEST(Corpus, RefusesWhatIsMissingEmptyOrTiny) {
  const TestFolder folder;
  EXPECT_NE(refusal(configFor(folder.file("no"))).find("does not exist"),
            std::string::npos);
  EXPECT_NE(refusal(configFor(folder.write("e", ""))).find("no bytes"),
            std::string::npos);
  std::filesystem::create_directory(folder.path / "void");
  EXPECT_NE(refusal(configFor(folder.file("void"))).find("no bytes"),
            std::string::npos);
  const std::string tiny = refusal(configFor(folder.write("t", counting(179))));
  EXPECT_NE(tiny.find("179 bytes"), std::string::npos);
  EXPECT_NE(tiny.find("needs 180"), std::string::npos);
  EXPECT_EQ(refusal(configFor(folder.write("ok", counting(180)))), "accepted");
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
  corpus.training = "ABCDEFGHIJ"; // windows of 9 bytes: two of them
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
  const Batch all = heldOutBatch(corpus, c, 0, 12, 12);
  EXPECT_EQ(all.inputs[1][0].item<int64_t>(),
            static_cast<unsigned char>(corpus.heldOut[8]));
  EXPECT_EQ(all.targets[11][7].item<int64_t>(),
            static_cast<unsigned char>(corpus.heldOut[96]));
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
