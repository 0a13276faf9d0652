// tests/unit/autotune/table/TuneTableTest.cpp - tests of
// autotune/table/TuneTable.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneTable.h"

#include "support/File.h"
#include "tests/unit/autotune/table/Entries.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace tessera;
using namespace tessera::tune;

namespace {

// The message of parseTable() for a table in which one text is replaced.
std::string withInstead(const std::string &part, const std::string &other) {
  std::string text = printTable(someTable());
  const size_t place = text.find(part);
  EXPECT_NE(place, std::string::npos) << part << "\n" << text;
  text.replace(place, part.size(), other);
  return refusal([&] { parseTable(text, "t.yaml"); });
}

std::string entryWith(const std::function<void(TuneEntry &)> &change) {
  TuneEntry entry = someEntry();
  change(entry);
  return refusal([&] { TuneTable().set(entry); });
}

} // namespace

TEST(TuneTable, BucketsAreUpperEndsOfPowersOfTwo) {
  EXPECT_EQ(bucketOf(0), 0);
  EXPECT_EQ(bucketOf(1), 1);
  EXPECT_EQ(bucketOf(512), 512);
  EXPECT_EQ(bucketOf(513), 1024);
  EXPECT_EQ(bucketOf(1024), 1024);
  EXPECT_EQ(bucketOf(longestSequence - 1), longestSequence);
  EXPECT_TRUE(contains(refusal([] { bucketOf(-1); }), "-1 tokens"));
  EXPECT_TRUE(contains(refusal([] { bucketOf(INT64_MAX); }), "tokens"));
}

TEST(TuneTable, FindsExactlyItsKey) {
  const TuneTable table = someTable();
  const TuneKey key = someEntry().key;
  ASSERT_TRUE(table.find(key));
  EXPECT_EQ(table.find(key)->use, someEntry().use);
  const std::function<void(TuneKey &)> changes[] = {
      [](TuneKey &k) { k.kernel += "2"; },
      [](TuneKey &k) { k.textHash[0] = 'f'; },
      [](TuneKey &k) { k.dtypes[0] = "fp16"; },
      [](TuneKey &k) { k.dtypes.pop_back(); },
      [](TuneKey &k) { k.constexprs["D"] = int64_t(128); },
      [](TuneKey &k) { k.constexprs["D"] = 64.0; },
      [](TuneKey &k) { k.constexprs["E"] = int64_t(64); },
      [](TuneKey &k) { k.constexprs.erase("D"); },
      [](TuneKey &k) { k.bucket = 8192; },
      [](TuneKey &k) { k.bucket = 0; }};
  for (const auto &change : changes) {
    TuneKey other = key;
    change(other);
    EXPECT_FALSE(table.find(other)) << describe(other);
    EXPECT_NE(other < key, key < other);
  }
}

TEST(TuneTable, SetReplacesAndEraseRemoves) {
  TuneTable table = someTable();
  TuneEntry entry = someEntry();
  entry.use.constexprs["BM"] = int64_t(128);
  table.set(entry);
  ASSERT_EQ(table.entries().size(), 1u);
  EXPECT_EQ(table.find(entry.key)->use, entry.use);
  EXPECT_TRUE(table.erase(entry.key));
  EXPECT_FALSE(table.erase(entry.key));
  EXPECT_TRUE(table.entries().empty());
}

TEST(TuneTable, SurvivesBeingWritten) {
  TuneTable table = someTable();
  TuneEntry entry = someEntry();
  entry.key.bucket = 0;
  entry.key.dtypes.clear();
  entry.key.constexprs = {{"A", nullptr},
                          {"B", std::string("tl.float32: \"x\" # \xc3\xa9")},
                          {"C", DType::BF16},
                          {"E", 1e-30},
                          {"F", 3.0},
                          {"N", std::string("")},
                          {"null", std::string("null")},
                          {"S", EncodedConstexpr{R"({"tuple":[4,"a",true]})"}},
                          {"T", std::string(R"({"tuple":[4]})")},
                          {"X", std::string("12")},
                          {"Y", std::string("true")},
                          {"Z", INT64_MIN}};
  entry.use.numWarps = 8;
  entry.use.numStages = 0;
  entry.runnerUp = TuneChoice{{{"BM", int64_t(32)}}, 4, std::nullopt};
  entry.runnerUpUs = 1.0 / 3;
  entry.predicted = true;
  entry.why = "fits: 3 blocks of an SM, 2 before";
  table.set(entry);
  TuneEntry third = someEntry();
  third.key.kernel = "own kernel.py:f";
  third.defaultUs = 0;
  third.use = {};
  table.set(third);
  const std::string text = printTable(table);
  const TuneTable read = parseTable(text, "t.yaml");
  EXPECT_TRUE(read == table) << text << printTable(read);
  EXPECT_EQ(printTable(read), text);
  EXPECT_TRUE(parseTable(printTable(TuneTable{someTable()}), "t") ==
              someTable());
}

TEST(TuneTable, AnEntryIsAFewLinesForPeople) {
  const std::string text = printTable(someTable());
  EXPECT_TRUE(contains(text, "- kernel: kernels/nsa/select_fwd.py:select_fwd\n"
                             "  text: 0123456789abcdef0123456789abcdef\n"
                             "  sequence: 4096\n"
                             "  dtypes: [bf16, none, i32]\n"
                             "  constexprs: {CAUSAL: true, D: 64}\n"
                             "  use: {BM: 64, BN: 32}\n"
                             "  time: {us: 812.4, spread: 0.013, "
                             "default_us: 1010.0, date: 2026-11-22}\n"))
      << text;
}

TEST(TuneTable, AFileIsWrittenCompletely) {
  TemporaryFolder folder;
  const auto file = folder.path() / "t.yaml";
  writeTable(file, someTable());
  EXPECT_TRUE(readTable(file) == someTable());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
  EXPECT_TRUE(contains(refusal([&] { readTable(folder.path() / "none.yaml"); }),
                       "none.yaml"));
}

TEST(TuneTable, ErrorsSayWhereAndWhatToDo) {
  EXPECT_TRUE(contains(withInstead("use: {BM: 64", "use: {BM: .nan"),
                       "t.yaml:16:13: `.nan` is not a value of a constexpr"))
      << withInstead("use: {BM: 64", "use: {BM: .nan");
  EXPECT_TRUE(contains(withInstead("us: 812.4", "us: nan"),
                       "t.yaml:17:14: this is not a finite number"));
  EXPECT_TRUE(contains(withInstead("us: 812.4", "us: 1e999"), "finite"));
  EXPECT_TRUE(contains(withInstead("us: 812.4", "us: -1"), "not a time"));
  EXPECT_TRUE(contains(withInstead("us: 812.4", "us: 0"), "not a time"));
  EXPECT_TRUE(contains(withInstead("us: 812.4", "us: 12us"), "finite number"));
  EXPECT_TRUE(contains(withInstead("spread: 0.013", "spraed: 0.013"),
                       "did you mean `spread`?"));
  EXPECT_TRUE(contains(withInstead("sequence: 4096", "sequence: 4095"),
                       "not a bucket"));
  EXPECT_TRUE(contains(withInstead("sequence: 4096", "sequence: 0x1000"),
                       "not a whole number"));
  EXPECT_TRUE(
      contains(withInstead("  sequence: 4096\n", ""), "`sequence` is missing"));
  EXPECT_TRUE(
      contains(withInstead("[bf16", "[bfloat16"), "not a type of elements"));
  EXPECT_TRUE(contains(withInstead("[bf16, none, i32]", "bf16"), "not a list"));
  EXPECT_TRUE(
      contains(withInstead("D: 64", "D: 64, D: 64"), "`D` is there twice"));
  EXPECT_TRUE(contains(withInstead("{BM: 64", "{D: 64"),
                       "both given by the launch and chosen"));
  EXPECT_TRUE(
      contains(withInstead("{BM: 64", "{num_warps: 0"), "num_warps is 0"));
  EXPECT_TRUE(contains(withInstead("0123456789abcdef0", "0"), "not a hash"));
  EXPECT_TRUE(contains(withInstead("2026-11-22", "22.11.2026"), "not a date"));
  EXPECT_TRUE(contains(withInstead("py:select_fwd", "py"), "names no kernel"));
  EXPECT_TRUE(contains(withInstead("tessera_tuning: 1", "tessera_tuning: 2"),
                       "version 2; this build reads 1"));
  EXPECT_TRUE(contains(withInstead("tessera_tuning: 1\n", ""),
                       "`tessera_tuning` is missing"));
  EXPECT_TRUE(contains(withInstead("cores: 108", "cores: -1"), "out of range"));
  EXPECT_TRUE(contains(withInstead("entries:", "entries: &a [*a]\nmade2:"),
                       "no `made2`"));
  EXPECT_TRUE(contains(withInstead("entries:\n", "entries: []\n---\n"), "YAML"))
      << withInstead("entries:\n", "entries: []\n---\n");
  EXPECT_TRUE(contains(withInstead("b40fb21", "\"\\e[31m\""), "not a line of"));
  EXPECT_TRUE(contains(refusal([] { parseTable("", "t.yaml"); }), "t.yaml"));
  // For yaml-cpp, documents without end.
  EXPECT_TRUE(contains(refusal([] { parseTable(", , \n", "t.yaml"); }),
                       "t.yaml:1:1: a table is a map"));
  EXPECT_TRUE(
      contains(refusal([] { parseTable("a: [1", "t.yaml"); }), "t.yaml:1:"));
}

TEST(TuneTable, ASecondEntryOfAKeyNamesTheFirst) {
  std::string text = printTable(someTable());
  text += text.substr(text.find("- kernel"));
  const std::string said = refusal([&] { parseTable(text, "t.yaml"); });
  EXPECT_TRUE(contains(said, "a second entry for kernels/nsa/select_fwd.py"))
      << said;
  EXPECT_TRUE(contains(said, "the first is at t.yaml:11:")) << said;
}

TEST(TuneTable, SetRefusesWhatAFileMayNotHold) {
  EXPECT_EQ(entryWith([](TuneEntry &) {}), "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.timeUs = NAN; }), "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.spread = INFINITY; }), "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.runnerUpUs = 1; }), "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.why = "two\nlines"; }), "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.why = "\xff"; }), "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.use.constexprs["B-M"] = true; }),
            "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.use.constexprs["BX"] = NAN; }),
            "accepted");
  EXPECT_NE(entryWith([](TuneEntry &e) { e.use.numWarps = 65; }), "accepted");
}

TEST(TuneTable, MergeKeepsTheMeasuredAndTheLaterEntry) {
  const auto with = [](const char *date, bool predicted, int64_t tile) {
    TuneTable table = someTable();
    TuneEntry entry = someEntry();
    entry.date = date;
    entry.predicted = predicted;
    entry.use.constexprs["BM"] = tile;
    table.set(entry);
    return table;
  };
  const auto kept = [](const TuneTable &a, const TuneTable &b) {
    const TuneTable both = merge(a, b);
    EXPECT_EQ(both.entries().size(), 1u);
    return std::get<int64_t>(
        both.find(someEntry().key)->use.constexprs.at("BM"));
  };
  EXPECT_EQ(kept(with("2026-01-02", false, 1), with("2026-01-01", false, 2)),
            1);
  EXPECT_EQ(kept(with("2026-01-01", false, 1), with("2026-01-01", false, 2)),
            2);
  EXPECT_EQ(kept(with("2026-01-01", false, 1), with("2026-01-02", true, 2)), 1);
  EXPECT_EQ(kept(with("2026-01-02", true, 1), with("2026-01-01", false, 2)), 2);

  TuneTable other = someTable();
  TuneEntry entry = someEntry();
  entry.key.bucket = 8192;
  other.set(entry);
  other.provenance.command = "tessera tune --config b.yaml";
  const TuneTable both = merge(someTable(), other);
  EXPECT_EQ(both.entries().size(), 2u);
  EXPECT_EQ(both.provenance.commit, "b40fb21");
  EXPECT_EQ(both.provenance.command, someTable().provenance.command +
                                         " && tessera tune --config b.yaml");
  other.device.cores = 100;
  EXPECT_TRUE(contains(refusal([&] { merge(someTable(), other); }),
                       "tables of two devices"));
}
