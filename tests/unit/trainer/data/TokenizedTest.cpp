// tests/unit/trainer/data/TokenizedTest.cpp - documents as shards of a
// tokenizer's tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/trainer/TestFolder.h"
#include "tests/unit/trainer/data/LlmCFile.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/Prepare.h"
#include "trainer/settings/Config.h"
#include "trainer/tokenizer/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::trainer;

namespace {

const std::string ranks =
    std::string(TESSERA_SOURCE) + "/tests/unit/trainer/tokenizer/ranks";

std::string refusal(const PrepareOptions &options) {
  try {
    prepareData(options);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message;
  }
  return "";
}

TEST(Tokenized, DocumentsAreTheTokenizersTokens) {
  const TestFolder folder;
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i)
    texts.push_back("And God said " + std::to_string(i) + ", it's \xc3\xa9 \n");
  // Longer than what is read at a time: cut where words are not.
  std::string longer;
  while (longer.size() < (5 << 19))
    longer += "In the beginning, it's  said \n\n\t x" +
              std::to_string(longer.size() % 977);
  texts.push_back(longer);
  std::string lines;
  for (const std::string &text : texts)
    lines += nlohmann::json{{"text", text}}.dump() + "\n";
  PrepareOptions options;
  options.input = folder.write("in/a.jsonl", lines);
  folder.write("in/b.txt", longer);
  options.input = folder.file("in");
  texts.push_back(longer);
  options.out = folder.file("shards");
  options.tokenizer = ranks;
  options.heldOut = 0;
  prepareData(options);

  Config config;
  config.dataPath = options.out;
  const Corpus corpus = loadCorpus(config);
  Tokenizer tokenizer(readVocabulary(ranks));
  EXPECT_EQ(corpus.tokenizer, tokenizer.name());
  EXPECT_EQ(corpus.vocabulary, 600);
  std::vector<int64_t> expected;
  size_t bytes = 0;
  for (const std::string &text : texts) {
    expected.push_back(599);
    for (const uint32_t token : tokenizer.encode(text))
      expected.push_back(token);
    bytes += text.size();
  }
  const int64_t size = corpus.training.size() + corpus.heldOut.size();
  ASSERT_EQ(size, int64_t(expected.size()));
  std::vector<int64_t> found(expected.size());
  corpus.training.read(0, corpus.training.size(), found.data());
  corpus.heldOut.read(0, corpus.heldOut.size(),
                      found.data() + corpus.training.size());
  EXPECT_EQ(found, expected);
  EXPECT_DOUBLE_EQ(corpus.tokensPerByte, double(size) / double(bytes));
  EXPECT_NE(inspectData(options.out + "/train_000000.bin")
                .find(tokenizer.name() + ", vocabulary 600"),
            std::string::npos);
  EXPECT_NO_THROW(verifyData(options.out + "/train_000000.bin"));
}

TEST(Tokenized, WhatCannotBeUsedIsRefused) {
  const TestFolder folder;
  PrepareOptions options;
  options.input = folder.write("a.txt", "some text");
  options.out = folder.file("shards");
  options.tokenizer = folder.file("none");
  EXPECT_NE(refusal(options), "");
  options.tokenizer =
      std::string(TESSERA_SOURCE) + "/tests/unit/trainer/tokenizer";
  EXPECT_NE(refusal(options).find("has no token <|endoftext|>"),
            std::string::npos)
      << refusal(options);
}

// Numbers of tokens beyond 16 bits.
TEST(Tokenized, WideTokensHaveFourBytes) {
  const TestFolder folder;
  std::string text = readFile(ranks);
  for (int i = 0; i < 70000; ++i) { // "AAAA" and so on: never made
    std::string word;
    for (int rest = i, k = 0; k < 4; ++k, rest /= 26)
      word += char('A' + rest % 26);
    text += word + word + " " + std::to_string(600 + i) + "\n";
  }
  PrepareOptions options;
  options.input = folder.write("a.txt", std::string(5000, 'x') + " the");
  options.tokenizer = folder.write("wide", text);
  options.out = folder.file("shards");
  prepareData(options);
  EXPECT_NE(inspectData(options.out + "/train_000000.bin").find("4 bytes"),
            std::string::npos);
  EXPECT_NO_THROW(verifyData(options.out + "/train_000000.bin"));
}

TEST(Tokenized, Gpt2IsAskedForByName) {
  const TestFolder folder;
  Config config;
  config.tokenizer = TokenizerKind::Gpt2;
  config.sequenceLength = 8;
  config.dataPath = folder.write("a.txt", std::string(5000, 'x'));
  try {
    loadCorpus(config);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("tokens of the kind byte"), std::string::npos)
        << e.message;
    EXPECT_NE(e.hint.find("tessera data prepare --tokenizer"),
              std::string::npos);
  }
  config.dataPath =
      folder.write("b.bin", llmcFile(std::vector<uint32_t>(5000, 50256)));
  EXPECT_EQ(loadCorpus(config).tokenizer, "gpt2");
}

TEST(Tokenized, AVocabularyIsMadeOfFiles) {
  const TestFolder folder;
  TokenizerOptions options;
  const std::string text = readFile(std::string(TESSERA_SOURCE) +
                                    "/tests/unit/trainer/tokenizer/text.txt");
  options.input = folder.write("in/a.txt", text);
  options.out = folder.file("made");
  options.size = 600;
  EXPECT_EQ(makeTokenizer(options).size(), 2u);
  const Vocabulary made = readVocabulary(options.out);
  EXPECT_EQ(made.end, 599);
  // The same merges as those of the ranks, which another program made.
  EXPECT_EQ(made.tokens, readVocabulary(ranks).tokens);
  // As the text of JSONL, too; a folder that is not empty is left alone.
  EXPECT_THROW(makeTokenizer(options), Error);
  options.input =
      folder.write("b.jsonl", nlohmann::json{{"text", text}}.dump() + "\n");
  options.out = folder.file("again");
  makeTokenizer(options);
  EXPECT_EQ(readVocabulary(options.out).hash(), made.hash());
  options.input = folder.write("empty", "");
  options.out = folder.file("nothing");
  EXPECT_THROW(makeTokenizer(options), Error);
}

} // namespace
