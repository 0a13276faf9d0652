// tests/unit/trainer/data/ChoicesTest.cpp - examples in llm.c's format, intact
// and damaged.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Choices.h"

#include "support/Error.h"
#include "support/LittleEndian.h"
#include "tests/unit/trainer/TestFolder.h"

#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using namespace tessera::trainer;

namespace {

std::string header(uint64_t examples) {
  std::string bytes;
  for (uint64_t number : {uint64_t(20240522), uint64_t(1), examples})
    putNumber(bytes, number, 4);
  bytes.resize(1024);
  return bytes;
}

/// An example: 65535, the length in bytes, then the numbers.
std::string example(const std::vector<uint64_t> &numbers) {
  std::string bytes;
  putNumber(bytes, 65535, 2);
  putNumber(bytes, 4 + 2 * numbers.size(), 2);
  for (uint64_t number : numbers)
    putNumber(bytes, number, 2);
  return bytes;
}

std::string good() {
  return header(2) +
         example({0, 2, 4, 3, 10, 11, 12, 1, 20, 2, 21, 22, 1, 23, 1, 65534}) +
         example({1, 0, 2, 1, 7, 1, 8, 1, 9});
}

std::string refusal(const std::string &path) {
  try {
    ChoiceFile file(path);
    for (int64_t i = 0; i < file.size(); ++i)
      file.next();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find(path), std::string::npos) << e.message;
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message;
  }
  return "accepted";
}

TEST(Choices, AreThoseOfTheFile) {
  const TestFolder folder;
  ChoiceFile file(folder.write("a.bin", good()));
  ASSERT_EQ(file.size(), 2);
  const MultipleChoice first = file.next(), second = file.next();
  EXPECT_EQ(first.label, 2);
  EXPECT_EQ(first.context, (std::vector<int64_t>{10, 11, 12}));
  EXPECT_EQ(first.endings,
            (std::vector<std::vector<int64_t>>{{20}, {21, 22}, {23}, {65534}}));
  EXPECT_EQ(second.label, 0);
  EXPECT_EQ(second.context, std::vector<int64_t>{7});
  EXPECT_EQ(second.endings, (std::vector<std::vector<int64_t>>{{8}, {9}}));
}

TEST(Choices, DamageNamesTheExample) {
  const TestFolder folder;
  const auto said = [&](const std::string &bytes) {
    return refusal(folder.write("b.bin", bytes));
  };
  EXPECT_NE(said("text").find("no examples in llm.c's format"),
            std::string::npos);
  EXPECT_NE(said(header(0)).find("0 examples"), std::string::npos);
  EXPECT_NE(said(header(1000)).find("cannot hold"), std::string::npos);
  EXPECT_NE(said(good().substr(0, good().size() - 2)).find("example 1"),
            std::string::npos);
  const auto one = [&](const std::vector<uint64_t> &numbers) {
    return said(header(1) + example(numbers));
  };
  EXPECT_EQ(one({0, 1, 2, 1, 7, 1, 8, 1, 9}), "accepted");
  EXPECT_NE(one({0, 2, 2, 1, 7, 1, 8, 1, 9}).find("right one of 2 endings"),
            std::string::npos);
  EXPECT_NE(one({0, 0, 1, 1, 7, 1, 8, 1, 9}).find("1 endings"),
            std::string::npos);
  EXPECT_NE(one({0, 0, 2, 0, 1, 8, 1, 9, 9}).find("context has no tokens"),
            std::string::npos);
  EXPECT_NE(one({0, 0, 2, 1, 7, 1, 8, 9, 9}).find("more than its"),
            std::string::npos);
  EXPECT_NE(one({0, 0, 2, 1, 7, 1, 8, 1, 9, 9}).find("it says 24 bytes"),
            std::string::npos);
}

TEST(Choices, NoDamageIsRead) {
  const TestFolder folder;
  std::mt19937 draw(3);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good();
    for (int changes = 0; changes < 2; ++changes)
      bytes[1024 * (draw() % 8 != 0) + draw() % (bytes.size() - 1024)] =
          char(draw());
    if (draw() % 4 == 0)
      bytes.resize(draw() % bytes.size());
    refused += refusal(folder.write("c.bin", bytes)) != "accepted";
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

} // namespace
