// tests/unit/trainer/data/ParquetTest.cpp - what pyarrow wrote, good and
// damaged.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Parquet.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/Prepare.h"
#include "trainer/settings/Config.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

struct Documents : DocumentSink {
  std::vector<std::string> all;
  void begin() override { all.emplace_back(); }
  void append(std::string_view text) override { all.back() += text; }
};

/// The files of make_parquet.py, made once for all tests.
const TestFolder &made() {
  static const TestFolder folder;
  static const bool once = [] {
    const CommandResult result =
        runCommand({TESSERA_PYTHON, TESSERA_MAKE_PARQUET, folder.path.string()},
                   std::chrono::seconds(120));
    if (!result.status.ok())
      throw std::runtime_error(result.errors);
    return true;
  }();
  (void)once;
  return folder;
}

std::vector<std::string> documents(const std::string &file,
                                   const std::string &field = "text") {
  Documents found;
  readDocuments({made().file(file)}, field, found);
  return found.all;
}

/// "message | hint" of a file that cannot be read.
std::string refusal(const std::string &path, const std::string &field = "text",
                    const fs::path &program = parquetProgram()) {
  Documents found;
  try {
    readParquet(path, field, found, program);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    EXPECT_NE(e.message.find(path), std::string::npos) << e.message;
    return e.message + " | " + e.hint;
  }
  return "accepted";
}

#define EXPECT_SAYS(text, part)                                                \
  EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Parquet, TextsAreThoseOfTheSameJsonl) {
  const std::vector<std::string> same = documents("same.jsonl");
  ASSERT_GT(same.size(), 400u);
  for (const char *file : {"none", "snappy", "gzip", "brotli", "zstd", "lz4",
                           "large", "dictionary"})
    EXPECT_EQ(documents(file + std::string(".parquet")), same) << file;
  EXPECT_EQ(documents("renamed.parquet", "body"), same);
  EXPECT_EQ(documents("nulls.parquet"), documents("nulls.jsonl"));
  EXPECT_TRUE(documents("empty.parquet").empty());
}

TEST(Parquet, ShardsAreThoseOfTheSameJsonl) {
  const TestFolder folder;
  std::vector<std::string> shards[2];
  for (int i = 0; i < 2; ++i) {
    PrepareOptions options;
    const char *const name = i ? "zstd.parquet" : "same.jsonl";
    fs::create_directories(folder.path / name);
    fs::copy(made().file(name), folder.path / name / name);
    options.input = folder.file(name);
    options.out = folder.file("out" + std::to_string(i));
    for (const std::string &file : prepareData(options).files)
      shards[i].push_back(readFile(file));
  }
  EXPECT_EQ(shards[0].size(), 2u);
  EXPECT_EQ(shards[0], shards[1]);
}

/// data.path=zstd.parquet is data.path of the shards that `prepare` makes of
/// it.
TEST(Parquet, ARunNamesAFileAsItIs) {
  const TestFolder folder;
  PrepareOptions options;
  options.input = made().file("zstd.parquet");
  options.out = folder.file("shards");
  prepareData(options);
  const char *before = std::getenv("TESSERA_DEPS");
  const std::string kept = before ? before : "";
  setenv("TESSERA_DEPS", folder.file("deps").c_str(), 1);
  Config config;
  config.sequenceLength = 8;
  config.dataPath = options.input;
  const Corpus straight = loadCorpus(config);
  if (before)
    setenv("TESSERA_DEPS", kept.c_str(), 1);
  else
    unsetenv("TESSERA_DEPS");
  config.dataPath = options.out;
  const Corpus prepared = loadCorpus(config);
  EXPECT_EQ(straight.hash, prepared.hash);
  EXPECT_EQ(straight.training.size(), prepared.training.size());
  EXPECT_EQ(straight.vocabulary, 257);
}

TEST(Parquet, InspectAndVerifySayWhatIsThere) {
  const std::string seen = inspectData(made().file("zstd.parquet"));
  EXPECT_SAYS(seen, "rows        700 in 5 row groups");
  EXPECT_SAYS(seen, "text (String, zstd)");
  EXPECT_SAYS(seen, "int_score (");
  EXPECT_SAYS(verifyData(made().file("nulls.parquet")), ": 700 rows, ");
  EXPECT_SAYS(verifyData(made().file("renamed.parquet"), "body"), "700 rows");
}

TEST(Parquet, WrongColumnsAreNamed) {
  EXPECT_SAYS(refusal(made().file("renamed.parquet")),
              "no column 'text'; it has body, id, dump");
  EXPECT_SAYS(refusal(made().file("same.jsonl")), "parquet file");
  for (const char *file : {"list.parquet", "bytes.parquet"}) {
    const std::string text = refusal(
        made().file(file),
        file == std::string("list.parquet") ? "text.list.element" : "text");
    EXPECT_SAYS(text, "not a plain column of strings");
    EXPECT_SAYS(text, "--field");
  }
  EXPECT_SAYS(refusal(made().file("nested.parquet"), "doc.text"),
              "not a plain column of strings");
  EXPECT_SAYS(refusal(made().file("none.parquet"), "token_count"), "INT64");
  EXPECT_SAYS(refusal(made().file("nowhere.parquet")), "No such file");
}

TEST(Parquet, DamageNamesTheRowGroup) {
  const TestFolder folder;
  const std::string whole = readFile(made().file("checked.parquet"));
  for (size_t size : {size_t(0), size_t(3), whole.size() / 2, whole.size() - 1})
    EXPECT_NE(refusal(folder.write("cut.parquet", whole.substr(0, size))),
              "accepted")
        << size;
  // A letter of the longest text: the checksum of its page is another then.
  std::string text;
  for (const std::string &other : documents("checked.parquet"))
    if (other.size() > text.size())
      text = other;
  const size_t at = whole.find(text);
  ASSERT_NE(at, std::string::npos);
  std::string other = whole;
  other[at] ^= 1;
  const std::string said = refusal(folder.write("letter.parquet", other));
  EXPECT_SAYS(said, "row group ");
  EXPECT_SAYS(said, "copy or make it again");
}

TEST(Parquet, RowsAreThoseOfTheHead) {
  const TestFolder folder;
  std::string bytes = readFile(made().file("small.parquet"));
  // The last row group's number of rows: field 3 of its struct, 9 as a zigzag
  // number.
  const size_t at = bytes.rfind("\x16\x12");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 16;
  EXPECT_SAYS(refusal(folder.write("rows.parquet", bytes)),
              "row group 3: it has 9 rows, its head says 8");
}

TEST(Parquet, NoDamageEndsThisProgram) {
  const TestFolder folder;
  const std::string whole = readFile(made().file("small.parquet"));
  std::mt19937 draw(11);
  int refused = 0;
  for (int i = 0; i < 80; ++i) {
    std::string bytes = whole;
    for (uint32_t changes = 1 + draw() % 4; changes > 0; --changes) {
      // Half of the damage hits the description at the end of the file.
      const size_t from = draw() % 2 ? bytes.size() * 3 / 4 : 0;
      bytes[from + draw() % (bytes.size() - from)] = char(draw());
    }
    const std::string path = folder.write("damaged.parquet", bytes);
    Documents found;
    try {
      readParquet(path, "text", found);
    } catch (const Error &e) {
      EXPECT_SAYS(e.message, path);
      EXPECT_FALSE(e.hint.empty()) << e.message;
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(Parquet, AReaderThatDiesOrIsNotThereIsAnError) {
  const TestFolder folder;
  const auto program = [&](const std::string &body) {
    const std::string path = folder.write("program", "#!/bin/sh\n" + body);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  };
  const std::string file = made().file("none.parquet");
  // Arrow's aborts are signals of the other program.
  EXPECT_SAYS(refusal(file, "text",
                      program("printf 'g\\006\\0\\0\\0\\0\\0\\0\\0002 of 9'\n"
                              "kill -ABRT $$\n")),
              "row group 2 of 9 ended the reader with signal 6");
  EXPECT_SAYS(refusal(file, "text", program("exit 127\n")),
              "scripts/setup train");
  EXPECT_SAYS(refusal(file, "text", program("exit 0\n")), "exit status 0");
  EXPECT_SAYS(refusal(file, "text",
                      program("printf 'q\\0\\0\\0\\0\\0\\0\\0\\0'"
                              "\n")),
              "build tessera and tessera-parquet together");
  EXPECT_SAYS(
      refusal(file, "text", program("printf 'x\\0\\0\\0\\0\\0\\0\\0\\377'\n")),
      "build tessera and tessera-parquet together");
}

TEST(Parquet, ARowGroupIsNotInMemory) {
  struct Counter : DocumentSink {
    int64_t bytes = 0;
    void begin() override {}
    void append(std::string_view text) override {
      bytes += int64_t(text.size());
    }
  } counter;
  // 64 MB of texts in one row group; 40 MB of data, besides Arrow's own.
  const std::string script =
      made().write("limited", "#!/bin/sh\nulimit -d 40000\nexec " +
                                  parquetProgram().string() + " \"$@\"\n");
  fs::permissions(script, fs::perms::owner_all);
  EXPECT_EQ(readParquet(made().file("wide.parquet"), "text", counter, script),
            1024);
  EXPECT_EQ(counter.bytes, 1024 << 16);
}

} // namespace
