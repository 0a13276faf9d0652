// tests/unit/autotune/search/TimesTest.cpp - tests of autotune/search/Times.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Times.h"

#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

TEST(Times, AreWhatWasWritten) {
  TemporaryFolder folder;
  const auto file = timesFile(folder.path() / "table.yaml");
  EXPECT_EQ(file.filename(), "table.yaml.times");
  EXPECT_EQ(Times::read(file).size(), 0u);
  KnownTime right;
  right.what = "window_fwd BM=64";
  right.seconds = {1.0 / 3, 0.02};
  right.samples = 11;
  right.setCandidate(
      {"k.py:window_fwd", "0123", {"bf16"}, {{"D", int64_t(64)}}, 2048},
      {{{"BM", int64_t(64)}}, {}, {}}, true);
  EXPECT_EQ(right.entry, "k.py:window_fwd bf16 D=64");
  EXPECT_EQ(right.bucket, 2048);
  EXPECT_EQ(right.choice, "BM=64");
  EXPECT_TRUE(right.own);
  KnownTime wrong;
  wrong.problem = "no end after 3 s";
  Times times;
  times.set("a", right);
  times.set("b", wrong);
  times.write(file);
  const Times again = Times::read(file);
  EXPECT_EQ(again.size(), 2u);
  ASSERT_TRUE(again.find("a") && again.find("b"));
  EXPECT_EQ(*again.find("a"), right);
  EXPECT_EQ(*again.find("b"), wrong);
  EXPECT_FALSE(again.find("c"));
}

// A warning, and everything is timed again.
TEST(Times, OfADamagedFileAreNone) {
  TemporaryFolder folder;
  const auto file = folder.path() / "t.times";
  for (const char *text :
       {"", "{", "[]", "{\"version\": 9, \"times\": {}}",
        "{\"version\": 1, \"times\": []}",
        "{\"version\": 1, \"times\": {\"a\": {\"seconds\": -1}}}",
        "{\"version\": 1, \"times\": {\"a\": {\"seconds\": \"x\"}}}",
        "{\"version\": 1, \"times\": {\"a\": 3}}",
        "{\"version\": 1, \"times\": {\"a\": {\"what\": \"no time\"}}}"}) {
    writeFile(file, text);
    EXPECT_EQ(Times::read(file).size(), 0u) << text;
  }
}

// Times of another user would choose the configurations of this one.
TEST(Times, OfAFileThatOthersWriteToAreNone) {
  TemporaryFolder folder;
  const auto file = folder.path() / "t.times";
  writeFile(file, "{\"version\": 1, \"times\": {\"a\": {\"what\": \"k\", "
                  "\"seconds\": 1}}}");
  EXPECT_EQ(Times::read(file).size(), 1u);
  std::filesystem::permissions(file, std::filesystem::perms(0666));
  EXPECT_EQ(Times::read(file).size(), 0u);
}
