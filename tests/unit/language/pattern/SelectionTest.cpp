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
       "1: select(...) does not take `blok` / did you mean `block`?\n"},
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
       "1: `local` is 0 / give a number from 1 to 16: pooled keys rank the "
       "blocks before the query's own, which is always selected\n"},
      {"select(block=1, local=0, score=pooled(mean))",
       "1: `local` is 0 / give a number from 1 to 16: pooled keys rank the "
       "blocks before the query's own, which is always selected\n"},
      {"select(score=indexer(head=4))",
       "1: indexer(...) does not take `head` / did you mean `heads`?\n"},
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

const char *const selectBest = "select(score=compressed(l=32, d=16))\n";
const char *const selectKeys =
    "select(block=1, top=8, local=0, score=indexer(heads=2, dim=8))\n";

TEST(Streams, ReadsEveryForm) {
  const auto selectionOf = [](const std::string &directives) {
    const ReadPattern read = patternOf(fileWith(directives));
    EXPECT_EQ(described(read.diagnostics), "") << directives;
    return read.pattern.selection.value_or(Selection{});
  };
  using Names = std::vector<std::string>;
  // The order of the two directives does not matter.
  for (const std::string &text :
       {selectBest + std::string("# tessera: streams(compressed, selected, "
                                 "window(256))"),
        "streams(compressed, selected, window(256))\n# tessera: " +
            std::string(selectBest)}) {
    const Selection gated = selectionOf(text);
    EXPECT_EQ(gated.streams, Streams::Gated);
    EXPECT_EQ(gated.pairs(), 3);
    EXPECT_EQ(gated.window, 256);
    EXPECT_EQ(gated.names(),
              (Names{"block", "top", "first", "local", "window", "l", "d"}));
  }
  const Selection all =
      selectionOf("streams(compressed(l=64, d=32), window(8), joined)");
  EXPECT_EQ(all.streams, Streams::Joined);
  EXPECT_EQ(all.scorer, Scorer::None);
  EXPECT_EQ(all.pairs(), 2);
  EXPECT_EQ(all.length, 64);
  EXPECT_EQ(all.stride, 32);
  EXPECT_EQ(all.window, 8);
  EXPECT_EQ(all.names(), (Names{"window", "l", "d"}));
  const Selection some = selectionOf(
      selectKeys + std::string("# tessera: streams(selected(compressed(l=8, "
                               "d=4)), window(8), joined)"));
  EXPECT_EQ(some.streams, Streams::Joined);
  EXPECT_EQ(some.scorer, Scorer::Indexer);
  EXPECT_EQ(some.names(), (Names{"top", "window", "l", "d", "heads", "dim"}));
}

TEST(Streams, ReportsErrorsWithRemedy) {
  const std::string joined = "streams(compressed(l=64, d=32), window(8), "
                             "joined)",
                    gated = "streams(compressed, selected, window(512))",
                    chosen = "streams(selected(compressed(l=8, d=4)), "
                             "window(8), joined)";
  const std::string forms =
      " / write streams(compressed, selected, window(512)), "
      "streams(compressed(l=128, d=128), window(128), joined) or "
      "streams(selected(compressed(l=8, d=4)), window(128), joined)\n";
  const auto after = [](const std::string &select, const std::string &streams) {
    return select + "# tessera: " + streams;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"streams()", "1: `` are not streams that one pattern has" + forms},
      {"streams(compressed(l=8, d=8), joined)",
       "1: `compressed(l, d) joined` are not streams that one pattern has" +
           forms},
      {"streams(compressed, window(8), joined)",
       "1: `compressed window joined` are not streams that one pattern has" +
           forms},
      {"streams(compressed(l=8, e=8), window(8), joined)",
       "1: `e` is not a name that compressed(...) takes / write "
       "compressed(l=32, d=16)\n"},
      {"streams(compressed(l=8.5, d=8), window(8), joined)",
       "1: `l` must be an integer" + forms},
      {"streams(window=8)",
       "1: streams(...) takes streams and not names" + forms},
      {"streams(compressed(l=8, d=8), window(0), joined)",
       "1: `window` is 0 / give a number from 1 to 1073741824\n"},
      {"streams(compressed(l=8, d=3), window(8), joined)",
       "1: `d` is 3, which does not divide l / choose a stride that divides "
       "it\n"},
      {"streams(compressed(l=256, d=8), window(8), joined)",
       "1: `l` is 256 / give a number from 1 to 128\n"},
      {gated, "1: streams(compressed, selected, window) needs the scorer "
              "compressed(...) / write # tessera: "
              "select(score=compressed(l=32, d=16))\n"},
      {after(selectBest, joined),
       "2: streams(...) without `selected` has a directive select(...) / "
       "remove it, or write selected(compressed(l=8, d=4))\n"},
      {after(selectBest, chosen),
       "2: selected compressed keys need an indexer / write # tessera: "
       "select(block=1, top=64, scope=all, local=0, score=indexer(heads=4, "
       "dim=64))\n"},
      {after("select(score=indexer())\n", chosen),
       "2: a list of compressed keys has blocks of more than one key, or "
       "forced ones / write block=1, first=0, local=0 in select(...)\n"},
      {after("select(window=3, score=compressed(l=32, d=16))\n", gated),
       "2: select(...) of a pattern with streams has `window` or "
       "`dense_below` / remove it; streams(..., window(512)) has the "
       "window\n"},
      {joined + "\n# tessera: " + joined,
       "2: streams(...) is declared twice / remove one of the two\n"},
  };
  for (const auto &[directives, wanted] : cases)
    EXPECT_EQ(described(patternOf(fileWith(directives)).diagnostics), wanted)
        << directives;
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

const std::string capped = "\n@triton.jit\ndef modify(s, t, pos, head):\n"
                           "    return tl.minimum(s, 9.0)\n";

TEST(Selection, DerivesKernelsForARuleOrAScore) {
  const std::string select = "select(score=pooled(mean))";
  const auto textOf = [](const std::string &text) {
    return expandPattern(std::make_shared<SourceFile>("p.py", text)).text;
  };
  for (const std::string &file :
       {fileWith(select, "pos < t"), fileWith(select) + capped}) {
    const std::string text = textOf(file);
    EXPECT_TRUE(text.starts_with(file)) << text;
    for (const char *kernel :
         {"p_list(", "p_list_bwd_dq(", "p_list_bwd_dkdv(", "p_scores("})
      EXPECT_NE(text.find("def " + std::string(kernel)), std::string::npos)
          << kernel;
    EXPECT_EQ(text.find("p_list_mass"), std::string::npos);
    EXPECT_FALSE(needsExpansion(text));
    EXPECT_EQ(textOf(text).size(), 0u) << "it defines the kernels itself";
  }
  EXPECT_NE(textOf(fileWith("select(score=indexer())", "pos < t"))
                .find("def p_list_mass("),
            std::string::npos);
}

TEST(Selection, DerivedKernelsHaveNoWindow) {
  const ReadPattern read =
      patternOf(fileWith("select(score=pooled(mean))", "pos < t"));
  EXPECT_TRUE(read.pattern.selection->derived);
  EXPECT_EQ(read.pattern.selection->names(),
            (std::vector<std::string>{"block", "top", "first", "local",
                                      "dense_below"}));
  EXPECT_EQ(expandedErrors(
                fileWith("select(window=8, score=pooled(mean))", "pos < t")),
            "3: a pattern with select(...) and the function `sees` has a "
            "window / remove window from select(...); local=2 selects the last "
            "blocks\n");
}

TEST(Selection, RefusesWhatItsKernelsDoNotCompute) {
  const std::string select = "select(score=pooled(mean))";
  EXPECT_EQ(expandedErrors(
                "# tessera: per_sequence(prefix=i32)\n# tessera: " + select +
                "\n@triton.jit\ndef sees(t, pos, prefix):\n    "
                "return pos < prefix\n"),
            "1: a pattern with select(...) has the value of a sequence "
            "`prefix` / remove it\n");
  EXPECT_EQ(
      expandedErrors("# tessera: tiles(BM=64, BN=16)\n# tessera: " + select +
                     "\n@triton.jit\ndef sees(t, pos):\n    "
                     "return pos <= t\n"),
      "1: a pattern with select(...) has tiles(...), which has no effect "
      "/ remove it\n");
  EXPECT_EQ(expandedErrors("# tessera: pattern(top=3)\n# tessera: " + select +
                           "\n@triton.jit\ndef sees(t, pos, top: "
                           "tl.constexpr):\n    return pos < top\n"),
            "1: `top` is a parameter of select(...), too / give it another "
            "name\n");
  EXPECT_EQ(expandedErrors("# tessera: pattern(dk=3)\n# tessera: " + select +
                           "\n@triton.jit\ndef sees(t, pos, dk: "
                           "tl.constexpr):\n    return pos < dk\n"),
            "1: the kernels of a pattern use the name `dk` / give the "
            "parameter a longer name in lower case\n");
  EXPECT_EQ(expandedErrors("# tessera: pattern(near=3)\n# tessera: " + select +
                           "\n@triton.jit\ndef sees(t, pos, near: "
                           "tl.constexpr):\n    return pos <= t\n"),
            "1: a pattern with select(...) has the parameter `near` / the "
            "values inside the directive are its parameters\n");
  EXPECT_EQ(expandedErrors(fileWith(select + "\n# tessera: "
                                             "learned(sink=[Hq])")),
            "");
  const std::string gated =
      selectBest +
      std::string("# tessera: streams(compressed, selected, window(512))");
  EXPECT_EQ(expandedErrors(fileWith(gated)), "");
  EXPECT_EQ(expandedErrors(fileWith(gated, "pos < t") + capped),
            "4: a pattern with streams(...) has a `sees` other than `pos <= t` "
            "/ write return pos <= t\n9: a pattern with streams(...) has a "
            "function `modify` / remove one of the two\n");
  EXPECT_EQ(expandedErrors(fileWith(gated + "\n# tessera: "
                                            "learned(sink=[Hq])")),
            "3: streams with gates have the learned number `sink` / remove it, "
            "or write joined in streams(...)\n");
}

} // namespace
} // namespace tessera::language
