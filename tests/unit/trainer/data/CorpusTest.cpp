// tests/unit/trainer/data/CorpusTest.cpp - corpora good and bad.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Corpus.h"

#include "support/Error.h"
#include "support/Hash.h"
#include "tests/unit/trainer/TestFolder.h"
#include "tests/unit/trainer/data/LlmCFile.h"
#include "trainer/data/Prepare.h"
#include "trainer/settings/Config.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <tuple>

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
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message + "\n" + e.hint;
  }
  return "accepted";
}

std::string textOf(const TokenStore &row) {
  std::vector<int64_t> tokens(size_t(row.size()));
  row.read(0, row.size(), tokens.data());
  return {tokens.begin(), tokens.end()};
}

TEST(Corpus, HoldsOutTheLastTwentieth) {
  const TestFolder folder;
  const std::string text = counting(1000);
  const Corpus c = loadCorpus(configFor(folder.write("a.txt", text)));
  EXPECT_EQ(textOf(c.training), text.substr(0, 950));
  EXPECT_EQ(textOf(c.heldOut), text.substr(950));
  EXPECT_EQ(c.hash, sha256Hex(text));
  EXPECT_EQ(c.vocabulary, 256);
  EXPECT_EQ(c.tokensPerByte, 1);
}

TEST(Corpus, JoinsAFolderInTheOrderOfNames) {
  const TestFolder folder;
  folder.write("text/b.txt", std::string(300, 'b'));
  folder.write("text/a/deep.txt", std::string(300, 'a'));
  folder.write("text/c", std::string(30, 'c'));
  const Corpus c = loadCorpus(configFor(folder.file("text")));
  const std::string all =
      std::string(300, 'a') + std::string(300, 'b') + std::string(30, 'c');
  EXPECT_EQ(textOf(c.training) + textOf(c.heldOut), all);
  EXPECT_EQ(c.hash, sha256Hex(all));
  // Reads across a file boundary, at an arbitrary offset.
  std::vector<int64_t> four(4);
  c.training.read(298, 4, four.data());
  EXPECT_EQ(four, (std::vector<int64_t>{'a', 'a', 'b', 'b'}));
}

TEST(Corpus, RefusesWhatIsMissingEmptyOrTiny) {
  const TestFolder folder;
  EXPECT_NE(
      refusal(configFor(folder.file("no"))).find("data.path does not exist"),
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
  EXPECT_NE(refusal(configFor("/dev/null")).find("not a regular file"),
            std::string::npos);
}

/// Keeps what is made once in a folder of its own.
struct OwnDependencies {
  explicit OwnDependencies(const TestFolder &folder) {
    if (const char *value = std::getenv("TESSERA_DEPS"))
      before = value;
    setenv("TESSERA_DEPS", folder.file("deps").c_str(), 1);
  }
  ~OwnDependencies() {
    if (before)
      setenv("TESSERA_DEPS", before->c_str(), 1);
    else
      unsetenv("TESSERA_DEPS");
  }
  std::optional<std::string> before;
};

std::string documentLines(int count, char text) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += "{\"text\": \"" + std::string(40, text) + "\"}\n";
  return lines;
}

// The shards that `data prepare` makes, made once; anew for another text.
TEST(Corpus, DocumentsArePreparedOnce) {
  const TestFolder folder;
  const OwnDependencies own(folder);
  const std::string file = folder.write("d.jsonl", documentLines(60, 'a'));
  PrepareOptions options;
  options.input = file;
  options.out = folder.file("shards");
  prepareData(options);
  const Corpus expected = loadCorpus(configFor(options.out));
  const Corpus first = loadCorpus(configFor(file));
  EXPECT_EQ(first.hash, expected.hash);
  EXPECT_EQ(first.vocabulary, 257);
  EXPECT_EQ(textOf(first.training), textOf(expected.training));
  EXPECT_EQ(textOf(first.heldOut), textOf(expected.heldOut));
  namespace fs = std::filesystem;
  const fs::path prepared = folder.path / "deps/data/prepared";
  const auto folders = [&] {
    std::vector<fs::path> all;
    for (const auto &e : fs::directory_iterator(prepared))
      if (e.is_directory())
        all.push_back(e.path());
    return all;
  };
  ASSERT_EQ(folders().size(), 1u);
  const fs::path kept = folders()[0];
  const fs::file_time_type made = fs::last_write_time(kept);
  // A second start finds it, though the first left an incomplete one there.
  folder.write("deps/data/prepared/" + kept.filename().string() + ".making/x",
               "torn");
  EXPECT_EQ(loadCorpus(configFor(file)).hash, expected.hash);
  EXPECT_EQ(fs::last_write_time(kept), made);
  folder.write("d.jsonl", documentLines(61, 'b'));
  EXPECT_NE(loadCorpus(configFor(file)).hash, expected.hash);
}

// cp -p, rsync -t and tar give another text the time of the earlier one.
TEST(Corpus, PreparesAnotherTextOfTheSameSizeAndTime) {
  const TestFolder folder;
  const OwnDependencies own(folder);
  namespace fs = std::filesystem;
  const std::string file = folder.write("d.jsonl", documentLines(60, 'a'));
  const auto time = fs::last_write_time(file);
  const Corpus first = loadCorpus(configFor(file));
  folder.write("d.jsonl", documentLines(60, 'b'));
  fs::last_write_time(file, time);
  const Corpus second = loadCorpus(configFor(file));
  EXPECT_EQ(textOf(first.training).find('b'), std::string::npos);
  EXPECT_NE(textOf(second.training).find('b'), std::string::npos);
}

TEST(Corpus, LeavesOutTheRunFolderAndHiddenFiles) {
  const TestFolder folder;
  folder.write("text/a.txt", std::string(600, 'a'));
  folder.write("text/.DS_Store", "x");
  folder.write("text/.git/config", "y");
  folder.write("text/run/lock", "12345");
  folder.write("text/runs/note.txt", std::string(10, 'n'));
  Config c = configFor(folder.file("text"));
  c.out = folder.file("text/run");
  const Corpus corpus = loadCorpus(c);
  EXPECT_EQ(textOf(corpus.training) + textOf(corpus.heldOut),
            std::string(600, 'a') + std::string(10, 'n'));
}

TEST(Corpus, RefusesFilesThatAreNotText) {
  const TestFolder folder;
  const std::string body(600, 'x');
  for (const auto &[name, head, what] :
       std::vector<std::tuple<const char *, std::string, const char *>>{
           {"a.txt.gz", "\x1f\x8b\x08", "a gzip file"},
           {"a.zst", "\x28\xb5\x2f\xfd", "a zstd file"},
           {"a.xz",
            std::string("\xfd"
                        "7zXZ\0",
                        6),
            "an xz file"},
           {"a.bz2", "BZh9", "a bzip2 file"},
           {"a.zip", "PK\x03\x04", "a zip file"},
           {"a.npy", "\x93NUMPY", "an array of numpy"},
           {"a.txt", "\xff\xfe", "UTF-16 text"},
           {"b.txt", "\xfe\xff", "UTF-16 text"},
           {"a.bin", "", "no header"}}) {
    const std::string text =
        refusal(configFor(folder.write(name, head + body)));
    EXPECT_NE(text.find(what), std::string::npos) << name << ": " << text;
  }
}

TEST(Corpus, HoldsOutFilesByTheWordsOfTheirNames) {
  const TestFolder folder;
  folder.write("text/train.txt", std::string(600, 't'));
  folder.write("text/interval.txt", std::string(100, 'i'));
  folder.write("text/validation.txt", std::string(300, 'v'));
  const Corpus c = loadCorpus(configFor(folder.file("text")));
  EXPECT_EQ(textOf(c.heldOut), std::string(300, 'v'));
  EXPECT_EQ(c.training.size(), 700);
  // One file alone is divided, whatever its name.
  EXPECT_EQ(
      loadCorpus(configFor(folder.file("text/validation.txt"))).training.size(),
      285);
}

TEST(Corpus, NamesTheSizeOfTooFewHeldOutTokens) {
  const TestFolder folder;
  folder.write("fw/train_000001.bin", llmcFile(std::vector<uint32_t>(3000, 4)));
  folder.write("fw/val_000000.bin", llmcFile(std::vector<uint32_t>(5, 3)));
  const std::string text = refusal(configFor(folder.file("fw")));
  EXPECT_NE(text.find("has 5 tokens in the files whose names say that they are "
                      "held out, and 3000 in the others"),
            std::string::npos)
      << text;
}

// A text that is torn leaves nothing that counts as prepared.
TEST(Corpus, DocumentsThatCannotBeReadAreNotPrepared) {
  const TestFolder folder;
  const OwnDependencies own(folder);
  const std::string file =
      folder.write("d.jsonl", documentLines(60, 'a') + "{\"text\": ");
  for (int start = 0; start < 2; ++start) {
    const std::string text = refusal(configFor(file));
    EXPECT_NE(text.find("d.jsonl:61"), std::string::npos) << text;
  }
  const std::string whole = folder.write("d.jsonl", documentLines(60, 'a'));
  EXPECT_EQ(refusal(configFor(whole)), "accepted");
  folder.write("both/d.jsonl", documentLines(60, 'a'));
  folder.write("both/text", counting(999));
  const std::string mixed = refusal(configFor(folder.file("both")));
  EXPECT_NE(mixed.find("holds documents"), std::string::npos) << mixed;
}

TEST(Corpus, LlmCFilesNamedValAreHeldOut) {
  const TestFolder folder;
  std::vector<uint32_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 50000u);
  folder.write("fw/train_000001.bin", llmcFile(tokens));
  folder.write("fw/train_000002.bin", llmcFile({7, 8, 9}));
  folder.write("fw/val_000000.bin", llmcFile(std::vector<uint32_t>(20, 3)));
  const Corpus c = loadCorpus(configFor(folder.file("fw")));
  EXPECT_EQ(c.training.size(), 103);
  EXPECT_EQ(c.heldOut.size(), 20);
  EXPECT_EQ(c.vocabulary, 50257);
  EXPECT_EQ(c.tokensPerByte, 0);
  std::vector<int64_t> four(4);
  c.training.read(98, 4, four.data());
  EXPECT_EQ(four, (std::vector<int64_t>{50098, 50099, 7, 8}));
}

TEST(Corpus, FilesOfTwoKindsAreRefused) {
  const TestFolder folder;
  folder.write("both/a.bin", llmcFile({1, 2, 3}));
  folder.write("both/b.txt", counting(300));
  const std::string text = refusal(configFor(folder.file("both")));
  EXPECT_NE(text.find("b.txt is text of byte, but"), std::string::npos) << text;
}

TEST(Corpus, ATokenOutsideTheVocabularyIsAnError) {
  const TestFolder folder;
  std::vector<uint32_t> tokens(400, 1);
  tokens[150] = 60000;
  const Corpus c =
      loadCorpus(configFor(folder.write("bad.bin", llmcFile(tokens))));
  std::vector<int64_t> out(100);
  EXPECT_NO_THROW(c.training.read(0, 100, out.data()));
  try {
    c.training.read(100, 100, out.data());
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("bad.bin: token 150 is 60000"), std::string::npos)
        << e.message;
    EXPECT_EQ(e.hint.find("data verify"), std::string::npos) // which says this
        << e.hint;
  }
}

// While a run reads it: an error, and no signal.
TEST(Corpus, AFileThatIsCutShortIsAnError) {
  const TestFolder folder;
  const std::string file = folder.write("a.txt", counting(5000));
  const Corpus c = loadCorpus(configFor(file));
  std::filesystem::resize_file(file, 1000);
  std::vector<int64_t> out(100);
  EXPECT_NO_THROW(c.training.read(500, 100, out.data()));
  EXPECT_THROW(c.training.read(3000, 100, out.data()), Error);
}

// Long data is neither read nor hashed completely: the file is sparse, and
// hashing 3 TB would take hours.
TEST(Corpus, LongDataIsNeitherReadNorHashedCompletely) {
  const TestFolder folder;
  const std::string file = folder.write("long.txt", counting(5000));
  const int64_t size = int64_t(3) << 40;
  std::filesystem::resize_file(file, uintmax_t(size));
  const Corpus c = loadCorpus(configFor(file));
  EXPECT_EQ(c.training.size() + c.heldOut.size(), size);
  EXPECT_TRUE(c.hash.starts_with("sampled:"));
  std::vector<int64_t> out(3);
  c.training.read(1, 3, out.data());
  EXPECT_EQ(out, (std::vector<int64_t>{31, 62, 93}));
  c.heldOut.read(c.heldOut.size() - 3, 3, out.data());
  EXPECT_EQ(out, (std::vector<int64_t>{0, 0, 0}));
  // Other data of that size is told apart.
  folder.write("long.txt", counting(5000).substr(1));
  std::filesystem::resize_file(file, uintmax_t(size));
  EXPECT_NE(loadCorpus(configFor(file)).hash, c.hash);
}

} // namespace
