// tests/unit/trainer/data/PackedRowsTest.cpp - documents found, fitted into
// rows and read back.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/PackedRows.h"

#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/trainer/TestFolder.h"
#include "tests/unit/trainer/data/LlmCFile.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/ShardWriter.h"
#include "trainer/settings/Config.h"

#include <gtest/gtest.h>
#include <map>

using namespace tessera;
using namespace tessera::trainer;

namespace {

using Row = std::vector<int64_t>;

/// Documents of one letter each ("aaa", "bb", ...) in shards of ours.
std::string shardsOf(const TestFolder &folder, const std::vector<int> &lengths,
                     int64_t shardTokens = 100) {
  std::filesystem::create_directories(folder.path / "shards");
  ShardWriter writer(folder.path / "shards", "train", shardTokens);
  for (size_t i = 0; i < lengths.size(); ++i) {
    writer.beginDocument();
    writer.append(std::string(size_t(lengths[i]), char('a' + i % 26)));
  }
  writer.finish();
  return folder.file("shards");
}

TokenStore storeOf(const std::string &path) {
  TokenStore store;
  for (const std::string &name : filesBelow(path)) {
    auto file = std::make_shared<const RandomFile>(name);
    store.add(file, readLayout(
                        file->read(0, std::min(file->size(), shardHeaderBytes)),
                        file->size(), name));
  }
  return store;
}

/// A row read back: inputs, targets and ends of sequences.
struct Read {
  Row inputs, targets;
  std::vector<int32_t> starts;
};
Read readRow(const PackedRows &rows, int64_t row, int64_t length) {
  Read r{Row(size_t(length)), Row(size_t(length)), {}};
  rows.read(row, 0, r.inputs.data(), r.targets.data(), r.starts);
  return r;
}

TEST(Documents, AreWhereTheFilesSayTheyAre) {
  const TestFolder folder;
  const auto lengthsOf = [](const TokenStore &store) {
    std::vector<int64_t> lengths;
    int64_t next = 0;
    for (const Document &d : store.documents()) {
      EXPECT_EQ(d.first, next);
      lengths.push_back(d.length);
      next += d.length;
    }
    EXPECT_EQ(next, store.size());
    return lengths;
  };
  // With the token before each; over several shards.
  const TokenStore shards = storeOf(shardsOf(folder, {60, 70, 3, 1, 150, 2}));
  EXPECT_EQ(lengthsOf(shards), (Row{61, 71, 4, 2, 151, 3}));
  EXPECT_EQ(shards.endToken(), 256);
  // part() may begin and end inside documents.
  EXPECT_EQ(lengthsOf(shards.part(10, 53)), (Row{51, 2}));
  EXPECT_EQ(lengthsOf(shards.part(61 + 71, 6)), (Row{4, 2}));
  EXPECT_FALSE(shards.part(10, 53).documents()[1].ends);
  EXPECT_TRUE(shards.part(10, 53).documents()[0].ends);
  EXPECT_EQ(shards.part(10, 53).endToken(), 256);
  // llm.c's files say it by a token, text by its end.
  const TokenStore llmc = storeOf(
      folder.write("a.bin", llmcFile({50256, 5, 6, 50256, 7, 50256, 50256})));
  EXPECT_EQ(lengthsOf(llmc), (Row{3, 2, 1, 1}));
  EXPECT_EQ(llmc.endToken(), 50256);
  const TokenStore wide = storeOf(
      folder.write("b.bin", llmcFile({9, 128000, 70000}, 20240801, 7, 4)));
  EXPECT_EQ(lengthsOf(wide), (Row{1, 2}));
  // A token on either side of where one piece that is read ends.
  std::vector<uint32_t> many((1 << 20) + 3, 5);
  many[(1 << 20) - 1] = many[1 << 20] = many[(1 << 20) + 2] = 50256;
  const TokenStore pieces = storeOf(folder.write("c.bin", llmcFile(many)));
  EXPECT_EQ(lengthsOf(pieces), (Row{(1 << 20) - 1, 1, 2, 1}));
  folder.write("text/a", "12345");
  folder.write("text/b", "123");
  const TokenStore text = storeOf(folder.file("text"));
  EXPECT_EQ(lengthsOf(text), (Row{5, 3}));
  EXPECT_EQ(text.endToken(), -1);
  EXPECT_EQ(lengthsOf(TokenStore("abcd").part(1, 2)), (Row{2}));
}

TEST(Documents, ADamagedIndexIsNamed) {
  const TestFolder folder;
  const std::string path = shardsOf(folder, {5, 5, 5}) + "/train_000000.bin";
  std::string bytes = readFile(path);
  bytes[bytes.size() - 8] = 100; // the third begins past the end
  writeFile(path, bytes);
  try {
    storeOf(path).documents();
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("document 2 begins at token 100"),
              std::string::npos)
        << e.message;
    EXPECT_FALSE(e.hint.empty());
  }
}

// By hand: with the token before each the lengths are 7, 4, 3, 6, 4; rows of
// 10 take 7+3, 6+4 and 4.
TEST(PackedRows, TakeTheLeastRoomThatFits) {
  const TestFolder folder;
  const TokenStore store = storeOf(shardsOf(folder, {6, 3, 2, 5, 3}));
  const PackedRows rows(store, 10);
  ASSERT_EQ(rows.rows(), 3);
  EXPECT_EQ(rows.filled(), 24);
  const Read first = readRow(rows, 0, 10), second = readRow(rows, 1, 10),
             third = readRow(rows, 2, 10);
  EXPECT_EQ(first.inputs,
            (Row{256, 'a', 'a', 'a', 'a', 'a', 'a', 256, 'c', 'c'}));
  EXPECT_EQ(first.targets,
            (Row{'a', 'a', 'a', 'a', 'a', 'a', 256, 'c', 'c', 256}));
  EXPECT_EQ(first.starts, (std::vector<int32_t>{7, 10}));
  EXPECT_EQ(second.inputs,
            (Row{256, 'b', 'b', 'b', 256, 'd', 'd', 'd', 'd', 'd'}));
  EXPECT_EQ(second.starts, (std::vector<int32_t>{4, 10}));
  // The rest is padding: a sequence of its own that nothing is learned of.
  EXPECT_EQ(third.inputs, (Row{256, 'e', 'e', 'e', 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(third.targets,
            (Row{'e', 'e', 'e', 256, -100, -100, -100, -100, -100, -100}));
  EXPECT_EQ(third.starts, (std::vector<int32_t>{4, 10}));
}

TEST(PackedRows, LongDocumentsContinueInOtherRows) {
  const TestFolder folder;
  const TokenStore store =
      storeOf(folder.write("a.bin", llmcFile([] {
                             std::vector<uint32_t> tokens{50256};
                             for (uint32_t i = 1; i < 10; ++i)
                               tokens.push_back(i);
                             return tokens;
                           }())));
  const PackedRows rows(store, 4);
  ASSERT_EQ(rows.rows(), 3);
  // After a cut, the target is the document's next token; after its end, the
  // end token.
  EXPECT_EQ(readRow(rows, 0, 4).targets, (Row{1, 2, 3, 4}));
  EXPECT_EQ(readRow(rows, 1, 4).inputs, (Row{4, 5, 6, 7}));
  EXPECT_EQ(readRow(rows, 1, 4).targets, (Row{5, 6, 7, 8}));
  EXPECT_EQ(readRow(rows, 2, 4).targets, (Row{9, 50256, -100, -100}));
  // A part does not know what follows it: neither the next token nor a
  // document's end.
  const PackedRows half(store.part(0, 6), 4);
  EXPECT_EQ(readRow(half, 1, 4).targets, (Row{5, -100, -100, -100}));
}

TEST(PackedRows, EveryTokenOnceAndLittlePadding) {
  const TestFolder folder;
  std::vector<int> lengths;
  uint32_t state = 7;
  for (int i = 0; i < 400; ++i)
    lengths.push_back(int((state = state * 1664525 + 1013904223) >> 16) % 90 +
                      1);
  const TokenStore store = storeOf(shardsOf(folder, lengths, 3000));
  for (const int64_t length : {64, 128, 500}) {
    const PackedRows rows(store, length);
    EXPECT_EQ(rows.filled(), store.size());
    std::map<int64_t, int64_t> seen; // first token: length
    for (int64_t row = 0; row < rows.rows(); ++row) {
      int64_t room = length;
      for (const PackedRows::Piece &p : rows.pieces(row)) {
        EXPECT_TRUE(seen.insert({p.first, p.length}).second);
        room -= p.length;
      }
      EXPECT_GE(room, 0);
      EXPECT_EQ(readRow(rows, row, length).starts.back(), length);
    }
    int64_t next = 0;
    for (const auto &[first, count] : seen) {
      EXPECT_EQ(first, next);
      next = first + count;
    }
    EXPECT_EQ(next, store.size());
    // A document that fits into a row is not split.
    if (length > 91) {
      EXPECT_EQ(seen.size(), lengths.size());
    }
    EXPECT_LT(double(rows.rows() * length), 1.02 * double(store.size()) + 500);
  }
}

TEST(PackedRows, TextWithoutAnEndHasNoTargetThere) {
  const TestFolder folder;
  folder.write("t/a", "xyz");
  folder.write("t/b", "q"); // nothing to predict
  const PackedRows rows(storeOf(folder.file("t")), 4);
  ASSERT_EQ(rows.rows(), 1);
  EXPECT_EQ(readRow(rows, 0, 4).inputs, (Row{'x', 'y', 'z', 0}));
  EXPECT_EQ(readRow(rows, 0, 4).targets, (Row{'y', 'z', -100, -100}));
  EXPECT_THROW(PackedRows(TokenStore("a"), 4), Error);
}

// The setting packs both the training and the held-out part of a corpus.
TEST(PackedRows, AreMadeWhereTheSettingAsksForThem) {
  const TestFolder folder;
  Config c;
  c.dataPath = shardsOf(folder, std::vector<int>(60, 20), 5000);
  c.sequenceLength = 32;
  EXPECT_EQ(loadCorpus(c).trainingRows, nullptr);
  c.dataPacking = DataPacking::BestFit;
  const Corpus corpus = loadCorpus(c);
  EXPECT_EQ(corpus.trainingRows->filled(), corpus.training.size());
  EXPECT_EQ(corpus.heldOutRows->filled(), corpus.heldOut.size());
}

} // namespace
