// tests/unit/trainer/tokenizer/VocabularyTest.cpp - files of tokens and merges:
// read, written, refused; made from a text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer/Vocabulary.h"

#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/trainer/TestFolder.h"
#include "trainer/tokenizer/Tokenizer.h"
#include "trainer/tokenizer/VocabularyTrainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::trainer;

namespace {

const std::string folder =
    std::string(TESSERA_SOURCE) + "/tests/unit/trainer/tokenizer";

/// All bytes, then `more`: {"a": 0, ...}.
std::string vocabularyWith(const std::map<std::string, int> &more) {
  nlohmann::json json;
  for (int byte = 0; byte < 256; ++byte)
    json[lettersOf(std::string(1, char(byte)))] = byte;
  for (const auto &[letters, number] : more)
    json[letters] = number;
  return json.dump();
}

std::string refusal(const std::string &vocabulary, const std::string &merges) {
  try {
    Tokenizer(parseVocabulary(vocabulary, merges, "v.json", "m.txt"));
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message;
  }
  return "";
}

std::string refusedRanks(const std::string &more) {
  const std::string all = readFile(folder + "/ranks");
  try {
    parseRanks(all + more, "ranks");
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message;
  }
  return "";
}

TEST(Letters, MapToBytes) {
  EXPECT_EQ(lettersOf("a \n"), "a\xc4\xa0\xc4\x8a"); // "aĠĊ"
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += char(byte);
  EXPECT_EQ(bytesOf(lettersOf(all)), all);
  for (const char *bad : {" ", "\xc5\x84", "\xe4\xb8\xad", "\xc4", "\xff"})
    EXPECT_THROW(bytesOf(bad), Error) << bad;
}

TEST(Vocabulary, WrittenAndReadAgainIsTheSame) {
  const Vocabulary read = readVocabulary(folder);
  const Vocabulary again =
      parseVocabulary(vocabularyText(read), mergesText(read), "v", "m");
  EXPECT_EQ(again.tokens, read.tokens);
  EXPECT_EQ(again.hash(), read.hash());
  EXPECT_EQ(read.tokens.size(), 599u);
  Vocabulary other = read;
  std::swap(other.merges[3].rank, other.merges[4].rank);
  EXPECT_NE(other.hash(), read.hash());
}

TEST(Vocabulary, EitherNamesOfTheFiles) {
  const TestFolder test;
  test.write("encoder.json", readFile(folder + "/vocab.json"));
  EXPECT_THROW(readVocabulary(test.path.string()), Error);
  test.write("vocab.bpe", readFile(folder + "/merges.txt"));
  EXPECT_EQ(readVocabulary(test.path.string()).hash(),
            readVocabulary(folder).hash());
  EXPECT_THROW(readVocabulary(test.file("none")), Error);
}

TEST(Vocabulary, WhatContradictsItselfIsRefused) {
  const std::string good = vocabularyWith({{"ab", 256}, {"abc", 257}});
  EXPECT_EQ(refusal(good, "#version: 0.2\na b\nab c\n"), "");
  EXPECT_EQ(refusal(good, "a b\r\nab c\r\n"), "");
  const auto names = [&](const std::string &message, const std::string &part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  names(refusal("[]", ""), "v.json: it is not a JSON object");
  names(refusal("{", ""), "v.json: it is not a JSON object");
  names(refusal(R"({"a": 1.5})", ""), "the number of 'a'");
  names(refusal(R"({"a": -1})", ""), "token number -1");
  names(refusal(R"({"a": 99999999999999999999})", ""), "the number of 'a'");
  names(refusal(R"({"a": 18446744073709551615})", ""), "the number of 'a'");
  names(refusal(R"({"a": 4194304})", ""), "token number 4194304");
  names(refusal(R"({"": 1})", ""), "token 1 is empty");
  names(refusal(R"({"a": 1, "b": 1})", ""), "the number 1 is given twice");
  names(refusal(R"({"a": 1})", ""), "byte 0x00 has no token");
  names(refusal(good, "a b\nab"), "m.txt:2: a merge is two tokens");
  names(refusal(good, "a b c"), "m.txt:1: a merge is two tokens");
  names(refusal(good, "b c"), "m.txt:1: 'bc' is not a token");
  names(refusal(good, "a \xe4\xb8\xad"), "represents no byte");
  names(refusal(good, "a b\na b"), "two merges");
}

TEST(Vocabulary, RanksThatAreDamagedAreRefused) {
  EXPECT_EQ(refusedRanks("eHl6 599\n"), ""); // xyz
  const auto names = [&](const std::string &more, const std::string &part) {
    EXPECT_NE(refusedRanks(more).find(part), std::string::npos)
        << refusedRanks(more);
  };
  names("eHl6", "ranks:600: a line of ranks");
  names("eHl6 x", "ranks:600: a line of ranks");
  names("eHl6 599 1", "ranks:600: a line of ranks");
  names("eHl 599", "not base64");
  names("e_l6 599", "not base64");
  names("eHl6 3", "the number 3 is given twice");
  names("YQ== 599", "a token is given twice");
  names(" 599", "token 599 is empty");
  EXPECT_THROW(parseRanks("YQ== 0\n", "r"), Error);
}

// Hugging Face's trainer made the files of the folder from the same text.
TEST(VocabularyTrainer, MakesTheMergesOfAnotherProgram) {
  VocabularyTrainer trainer;
  trainer.add(readFile(folder + "/text.txt"));
  const Vocabulary made = trainer.train(600);
  EXPECT_EQ(mergesText(made).substr(mergesText(made).find('\n')),
            readFile(folder + "/merges.txt")
                .substr(readFile(folder + "/merges.txt").find('\n')));
  std::vector<std::string> tokens = made.tokens;
  EXPECT_EQ(tokens.back(), endOfText);
  EXPECT_EQ(made.end, 599);
  tokens.pop_back();
  EXPECT_EQ(tokens, readVocabulary(folder).tokens);
}

TEST(VocabularyTrainer, StopsWhereNothingRepeats) {
  VocabularyTrainer trainer;
  trainer.add("abab");
  const Vocabulary made = trainer.train(1000);
  EXPECT_EQ(made.tokens.size(), 258u); // "ab", and the end
  EXPECT_THROW(trainer.train(256), Error);
  EXPECT_THROW(trainer.train(mostTokens + 1), Error);
  EXPECT_EQ(VocabularyTrainer().train(300).tokens.size(), 257u);
}

} // namespace
