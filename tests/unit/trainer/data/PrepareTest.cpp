// tests/unit/trainer/data/PrepareTest.cpp - documents to shards and back.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Prepare.h"

#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/trainer/TestFolder.h"
#include "tests/unit/trainer/data/LlmCFile.h"
#include "trainer/data/Corpus.h"
#include "trainer/settings/Config.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

/// Documents "d0 ", "d1 d1 ", ...; some with letters that JSON escapes.
std::string document(int number) {
  std::string text;
  for (int i = 0; i <= number % 7; ++i)
    text += "d" + std::to_string(number) + (i % 2 ? "\n\"" : " \xc3\xa9");
  return text;
}

std::string jsonLines(int documents) {
  std::string lines;
  for (int i = 0; i < documents; ++i) {
    std::string escaped;
    for (char c : document(i))
      escaped += c == '\n' ? "\\n" : c == '"' ? "\\\"" : std::string(1, c);
    lines +=
        "{\"id\": " + std::to_string(i) + ", \"text\": \"" + escaped + "\"}\n";
  }
  return lines;
}

/// The documents of a row of byte tokens.
std::vector<std::string> documentsOf(const TokenStore &row) {
  std::vector<int64_t> tokens(size_t(row.size()));
  row.read(0, row.size(), tokens.data());
  std::vector<std::string> all;
  for (int64_t token : tokens) {
    if (token == 256)
      all.emplace_back();
    else
      all.back() += char(token);
  }
  return all;
}

std::string refusal(const PrepareOptions &options) {
  try {
    prepareData(options);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message;
  }
  return "accepted";
}

TEST(Prepare, EveryDocumentIsInOnePart) {
  const TestFolder folder;
  PrepareOptions options;
  options.input = folder.write("in/a.jsonl", jsonLines(300));
  options.out = folder.file("out");
  options.heldOut = 0.1;
  options.shardTokens = 1000;
  const Prepared made = prepareData(options);
  EXPECT_EQ(made.documents, 300);
  EXPECT_NEAR(double(made.heldOutDocuments), 30, 15);
  EXPECT_GT(made.files.size(), 3u);
  Config config;
  config.dataPath = options.out;
  config.sequenceLength = 8;
  const Corpus corpus = loadCorpus(config);
  EXPECT_EQ(corpus.vocabulary, 257);
  std::vector<std::string> found = documentsOf(corpus.training);
  const std::vector<std::string> held = documentsOf(corpus.heldOut);
  EXPECT_EQ(int64_t(held.size()), made.heldOutDocuments);
  found.insert(found.end(), held.begin(), held.end());
  std::vector<std::string> expected;
  size_t bytes = 0;
  for (int i = 0; i < 300; ++i) {
    expected.push_back(document(i));
    bytes += expected.back().size();
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  EXPECT_DOUBLE_EQ(corpus.tokensPerByte, double(bytes + 300) / double(bytes));
  for (const std::string &file : made.files)
    EXPECT_NE(verifyData(file).find("checksum good"), std::string::npos);
  EXPECT_NE(inspectData(made.files[0]).find("vocabulary 257"),
            std::string::npos);
  // The same again, bit for bit.
  options.out = folder.file("again");
  prepareData(options);
  for (const auto &e : fs::directory_iterator(folder.path / "out"))
    EXPECT_EQ(readFile(e.path()),
              readFile(folder.path / "again" / e.path().filename()));
}

TEST(Prepare, AFileThatIsNoJsonlIsOneDocument) {
  const TestFolder folder;
  // Longer than the pieces it is read in, with a line break near their end.
  std::string text(3'000'000, 'x');
  text[1 << 20] = '\n';
  folder.write("in/a.txt", text);
  folder.write("in/empty.txt", "");
  PrepareOptions options;
  options.input = folder.file("in");
  options.out = folder.file("out");
  options.heldOut = 0;
  const Prepared made = prepareData(options);
  EXPECT_EQ(made.documents, 1);
  ASSERT_EQ(made.files.size(), 1u);
  Config config;
  config.dataPath = options.out;
  const Corpus corpus = loadCorpus(config);
  EXPECT_EQ(corpus.training.size() + corpus.heldOut.size(), 3'000'001);
}

TEST(Prepare, BadInputNamesFileAndLine) {
  const TestFolder folder;
  PrepareOptions options;
  const auto tryLines = [&](const std::string &text) {
    options.input = folder.write("bad.jsonl", text);
    options.out = folder.file("out-bad");
    fs::remove_all(options.out);
    const std::string message = refusal(options);
    EXPECT_TRUE(fs::is_empty(options.out)); // nothing half written
    return message;
  };
  EXPECT_NE(tryLines("{\"text\": \"a\"}\n{\"text\": \"b\"\n")
                .find("bad.jsonl:2:13: this line is not JSON: "),
            std::string::npos);
  EXPECT_NE(tryLines("{\"text\":\"a\\ud800b\"}\n").find("surrogate pair"),
            std::string::npos);
  EXPECT_NE(tryLines("{\"txt\": \"a\"}").find("bad.jsonl:1: no text in 'text'"),
            std::string::npos);
  EXPECT_NE(tryLines("[1]\n").find("no text in"), std::string::npos);
  EXPECT_NE(tryLines("\n \n").find("no documents"), std::string::npos);
  options.input = folder.write("t.bin", llmcFile({1, 2}));
  EXPECT_NE(refusal(options).find("holds tokens already"), std::string::npos);
  options.out = folder.path.string();
  EXPECT_NE(refusal(options).find("holds files already"), std::string::npos);
}

TEST(Prepare, VerifyFindsEveryFlippedByte) {
  const TestFolder folder;
  PrepareOptions options;
  options.input = folder.write("a.jsonl", jsonLines(5));
  options.out = folder.file("out");
  options.heldOut = 0;
  const std::string file = prepareData(options).files.at(0);
  const std::string good = readFile(file);
  for (size_t at = 1024; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 4);
    writeFile(file, bad);
    EXPECT_THROW(verifyData(file), Error) << at;
  }
  writeFile(file, good);
  EXPECT_NO_THROW(verifyData(file));
}

} // namespace
