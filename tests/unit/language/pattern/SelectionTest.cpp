// tests/unit/language/pattern/SelectionTest.cpp - the directive select(...).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/language/pattern/Helpers.h"

#include "language/pattern/PatternKernels.h"

#include <gtest/gtest.h>

namespace tessera::language {
namespace {

std::string fileWith(const std::string &directive,
                     const std::string &visible = "pos <= t") {
  return "# tessera: " + directive +
         "\n@triton.jit\ndef sees(t, pos):\n    \"\"\"Causal.\"\"\"\n    "
         "return " +
         visible + "\n";
}

TEST(Selection, ReadsEveryValue) {
  const ReadPattern read = patternOf(
      fileWith("select(block=32, top=1 << 3, first=2, local=3, window=100, "
               "dense_below=4096, scope=q, score=indexer(heads=8, dim=128))"));
  EXPECT_EQ(described(read.diagnostics), "");
  ASSERT_TRUE(read.pattern.selection);
  const Selection &s = *read.pattern.selection;
  EXPECT_EQ(s.block, 32);
  EXPECT_EQ(s.top, 8);
  EXPECT_EQ(s.first, 2);
  EXPECT_EQ(s.local, 3);
  EXPECT_EQ(s.window, 100);
  EXPECT_EQ(s.denseBelow, 4096);
  EXPECT_EQ(s.scope, ListScope::QueryHead);
  EXPECT_EQ(s.scorer, Scorer::Indexer);
  EXPECT_EQ(s.heads, 8);
  EXPECT_EQ(s.width, 128);
}

TEST(Selection, ReadsEveryScorer) {
  const auto scorerOf = [](const std::string &score) {
    const ReadPattern read = patternOf(fileWith("select(score=" + score + ")"));
    EXPECT_EQ(described(read.diagnostics), "") << score;
    return read.pattern.selection->scorer;
  };
  EXPECT_EQ(scorerOf("pooled(mean)"), Scorer::PooledMean);
  EXPECT_EQ(scorerOf("pooled(max)"), Scorer::PooledMax);
  EXPECT_EQ(scorerOf("compressed(l=16, d=8)"), Scorer::Compressed);
  EXPECT_EQ(scorerOf("indexer()"), Scorer::Indexer);
}

TEST(Selection, ReportsErrorsWithRemedy) {
  const struct {
    const char *directive, *described;
  } cases[] = {
      {"select(block=64)",
       "1: select(...) has no `score` / write score=pooled(mean)\n"},
      {"select(blok=64, score=pooled(mean))",
       "1: `blok` is not a name that this takes / did you mean `block`?\n"},
      {"select(block=64.0, score=pooled(mean))",
       "1: `block` must be an integer / write block=64\n"},
      {"select(block=129, score=pooled(mean))",
       "1: `block` is 129 / give a number from 1 to 128\n"},
      {"select(block=1 << 70, score=pooled(mean))",
       "1: `block` must be an integer / write block=64\n"},
      {"select(top=0, score=pooled(mean))",
       "1: `top` is 0 / give a number from 1 to 4096\n"},
      {"select(top=4, first=2, local=3, score=pooled(mean))",
       "1: `top` is 4, less than the 5 forced blocks / raise top, or lower "
       "first or local\n"},
      {"select(local=0, score=pooled(mean))",
       "1: `local` is 0 / give a number from 1 to 16: the pooled key of the "
       "query's own block has later tokens in it\n"},
      {"select(scope=head, score=pooled(mean))",
       "1: `head` is not a scope / write scope=q, kv or all\n"},
      {"select(score=pooled(median))",
       "1: `pooled` takes one word / write pooled(mean) or pooled(max)\n"},
      {"select(score=best)",
       "1: `best` is not a scorer / write pooled(mean), pooled(max), "
       "compressed(l=32, d=16) or indexer(heads=4, dim=64)\n"},
      {"select(score=compressed(l=32, d=24))",
       "1: `d` is 24, which does not divide l and block / choose a stride that "
       "divides both\n"},
      {"select(scope=q, score=compressed(l=32, d=16))",
       "1: compressed(...) scores blocks for scope kv / write scope=kv\n"},
      {"select(score=indexer(heads=0))",
       "1: `heads` is 0 / give a number from 1 to 128\n"},
      {"select(score=pooled(mean))\n# tessera: select(score=pooled(max))",
       "2: select(...) is declared twice / remove one of the two\n"},
  };
  for (const auto &one : cases)
    EXPECT_EQ(described(patternOf(fileWith(one.directive)).diagnostics),
              one.described)
        << one.directive;
}

std::string expandedErrors(const std::string &text) {
  return described(
      expandPattern(std::make_shared<SourceFile>("p.py", text)).diagnostics);
}

TEST(Selection, LeavesTheFileAsItIs) {
  const std::string text = fileWith("select(score=pooled(mean))");
  EXPECT_EQ(expandPattern(std::make_shared<SourceFile>("p.py", text)).text,
            text);
  EXPECT_EQ(expandedErrors(fileWith("select(score=pooled(mean))", "t >= pos")),
            "");
}

TEST(Selection, RefusesWhatItsKernelsDoNotCompute) {
  const std::string select = "select(score=pooled(mean))";
  EXPECT_EQ(expandedErrors(fileWith(select, "pos < t")),
            "3: a pattern with select(...) has a `sees` other than `pos <= t` "
            "/ write return pos <= t; select(window=...) adds the last keys\n");
  EXPECT_EQ(expandedErrors(fileWith(select) +
                           "\n@triton.jit\ndef modify(s, t, pos, head):\n"
                           "    return s\n"),
            "8: a pattern with select(...) has a function `modify` / remove "
            "one of the two\n");
  EXPECT_EQ(expandedErrors(fileWith(select + "\n# tessera: "
                                             "learned(sink=[Hq])")),
            "");
}

} // namespace
} // namespace tessera::language
