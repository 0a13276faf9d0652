// tests/unit/language/pattern/DerivedTextTest.cpp - texts that are derived from
// patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// golden/NAME.txt is a pattern, a line "# derived", and what is derived from
// it.
#include "tests/unit/language/pattern/Helpers.h"

#include "language/pattern/Derivative.h"
#include "language/pattern/Visibility.h"
#include "support/File.h"

#include <gtest/gtest.h>

namespace tessera::language {
namespace {

struct Golden {
  std::string source, expected;
};

Golden goldenFile(const std::string &name) {
  const std::string text =
      readFile(std::string(TESSERA_TEST_DIR) + "/golden/" + name + ".txt");
  const std::string border = "# derived\n";
  const size_t at = text.find(border);
  return {text.substr(0, at), text.substr(at + border.size())};
}

Visibility visibilityOf(const std::string &text) {
  const ReadPattern read = patternOf(text);
  EXPECT_EQ(described(read.diagnostics), "");
  return deriveVisibility(read.pattern);
}

Gradients gradientsOf(const std::string &text) {
  const ReadPattern read = patternOf(text);
  EXPECT_EQ(described(read.diagnostics), "");
  return deriveGradients(read.pattern);
}

struct KnownVisibility {
  const char *name;
  bool keyGaps, queryGaps;
};

TEST(Visibility, OfKnownPatterns) {
  for (const KnownVisibility &one : {KnownVisibility{"causal", false, false},
                                     {"window", false, false},
                                     {"sink_window", true, false},
                                     {"strided", true, true},
                                     {"dilated_window", true, true},
                                     {"block_causal", false, false},
                                     {"prefix", false, false},
                                     {"chunks", false, false},
                                     {"switch", false, false},
                                     {"heads", false, false},
                                     {"bidirectional", false, false},
                                     {"opaque", true, true},
                                     {"mixed", true, true}}) {
    const Golden golden = goldenFile(one.name);
    const Visibility visibility = visibilityOf(golden.source);
    EXPECT_EQ(described(visibility.diagnostics), "");
    EXPECT_EQ(visibility.importLine() + visibility.text, golden.expected)
        << one.name;
    EXPECT_EQ(visibility.keyGaps, one.keyGaps) << one.name;
    EXPECT_EQ(visibility.queryGaps, one.queryGaps) << one.name;
  }
}

TEST(Gradients, OfKnownPatterns) {
  for (const char *name : {"softcap", "alibi", "piecewise"}) {
    const Golden golden = goldenFile(name);
    const Gradients gradients = gradientsOf(golden.source);
    EXPECT_EQ(described(gradients.diagnostics), "");
    EXPECT_EQ(gradients.text, golden.expected) << name;
    EXPECT_EQ(gradients.unitSlope, std::string(name) == "alibi");
  }
  EXPECT_EQ(gradientsOf(goldenFile("alibi").source).learned,
            std::vector<std::string>{"slope"});
}

TEST(Visibility, OfTheDefaultIsCausal) {
  const Visibility visibility = visibilityOf("");
  EXPECT_EQ(visibility.text, goldenFile("causal").expected);
  EXPECT_TRUE(visibility.parameters.empty());
  EXPECT_TRUE(gradientsOf("").unitSlope);
  EXPECT_EQ(gradientsOf("").text, "");
}

TEST(Visibility, NamesTheParametersOfTheFunctions) {
  EXPECT_EQ(visibilityOf(goldenFile("heads").source).parameters,
            (std::vector<std::string>{"head0", "head1", "window"}));
}

TEST(Visibility, KeepsFunctionsOfTheModule) {
  const Visibility visibility =
      visibilityOf("@triton.jit\ndef sees(t, pos):\n    return tl.load(t)\n\n"
                   "@triton.jit\ndef sees_tile(t0, t1, pos0, pos1):\n"
                   "    return True, False\n\n"
                   "@triton.jit\ndef key_range(t0, t1, length):\n"
                   "    return 0, 0, 0, length\n\n"
                   "@triton.jit\ndef query_range(pos0, pos1, length):\n"
                   "    return 0, 0, 0, length\n");
  EXPECT_EQ(visibility.text, "");
  EXPECT_EQ(described(visibility.diagnostics), "");
  EXPECT_EQ(
      visibility.userDefined,
      (std::vector<std::string>{"sees_tile", "key_range", "query_range"}));
  EXPECT_TRUE(visibility.keyGaps && visibility.queryGaps);
}

TEST(Visibility, AvoidsNamesOfParameters) {
  const Visibility visibility = visibilityOf(
      "# tessera: pattern(length=4, first=2, any=1)\n@triton.jit\n"
      "def sees(t, pos, length: tl.constexpr, first: tl.constexpr, any: "
      "tl.constexpr):\n    return pos < length + first + any\n");
  EXPECT_NE(visibility.text.find("any_ = pos0 < length + first + any\n"),
            std::string::npos)
      << visibility.text;
  EXPECT_NE(visibility.text.find(
                "past = tl.minimum(length + first + any, length_)\n"),
            std::string::npos)
      << visibility.text;
}

TEST(Visibility, AvoidsNamesOfTheModule) {
  const Visibility visibility = visibilityOf(
      "any = 5\nt0 = 6\n\n@triton.jit\ndef sees(t, pos):\n    return pos < "
      "any + t0\n");
  EXPECT_NE(visibility.text.find("any_ = pos0 < any + t0\n"), std::string::npos)
      << visibility.text;
  EXPECT_NE(visibility.text.find("def sees_tile(t0_, t1, "), std::string::npos);
  EXPECT_NE(gradientsOf("y = 2.0\n\n@triton.jit\ndef modify(s, t, pos, head):\n"
                        "    return tl.sigmoid(s * y)\n")
                .text.find("    y_ = tl.sigmoid(s * y)\n    return y_ * (1.0 - "
                           "y_) * y\n"),
            std::string::npos);
}

// What is not analysed hides no key and masks each tile.
TEST(Visibility, IsOpenWhereNothingIsKnown) {
  for (const char *expression :
       {"t * 0.5 <= pos", "(t ^ pos) == 0", "pos // t == 1", "tl.sqrt(pos) < 4",
        "pos.to(tl.int8) < 4", "pos < 10 ** 30", "tl.abs() < pos",
        "tl.where(t) < pos", "pos * 999999999999 * 999999999999 < t"}) {
    const Visibility visibility =
        visibilityOf("@triton.jit\ndef sees(t, pos):\n    return " +
                     std::string(expression) + "\n");
    EXPECT_NE(visibility.text.find("any = True\n    all = False\n"),
              std::string::npos)
        << expression << "\n"
        << visibility.text;
    EXPECT_NE(visibility.text.find("first = 0\n    full_first = 0\n    "
                                   "full_past = 0\n    past = length\n"),
              std::string::npos)
        << expression;
    EXPECT_TRUE(visibility.keyGaps);
  }
}

struct Underivable {
  const char *body, *described;
};

TEST(Visibility, ReportsWhatItCannotFollow) {
  const std::string remedy =
      " / write sees_tile, key_range and query_range in the module\n";
  const Underivable cases[] = {
      {"return tl.load(t) > 0",
       "3: `sees` reads memory: it may depend on positions and parameters "
       "only"},
      {"return tl.erf(t) > 0",
       "3: `sees` calls `tl.erf`, which the derivation does not know"},
      {"return t < SIZE", "3: `sees` uses `SIZE`, which is not defined"},
      {"for i in range(3):\n        t += i\n    return t < 3",
       "3: `sees` has a statement that the derivation does not follow"},
      {"return t[0] < 3",
       "3: `sees` has an expression that the derivation does not follow"},
      {"x = t", "2: `sees` does not return a value"},
      {"return sees(t, pos)", "3: `sees` nests more than 16 calls"},
  };
  for (const Underivable &one : cases) {
    const Visibility visibility = visibilityOf(
        "@triton.jit\ndef sees(t, pos):\n    " + std::string(one.body) + "\n");
    EXPECT_EQ(described(visibility.diagnostics), one.described + remedy);
    EXPECT_EQ(visibility.text, "");
  }
}

TEST(Visibility, ReportsTheChainOfCallers) {
  const Visibility visibility =
      visibilityOf("@triton.jit\ndef near(x):\n    return tl.load(x)\n\n"
                   "@triton.jit\ndef sees(t, pos):\n    return near(t) > 0\n");
  ASSERT_EQ(visibility.diagnostics.size(), 1u);
  EXPECT_EQ(visibility.diagnostics[0].range.line, 3u);
  ASSERT_EQ(visibility.diagnostics[0].callers.size(), 1u);
  EXPECT_EQ(visibility.diagnostics[0].callers[0].function, "sees");
  EXPECT_EQ(visibility.diagnostics[0].callers[0].range.line, 7u);
}

TEST(Visibility, LimitsConditionsAndSizes) {
  std::string body, doubled = "    x = t\n";
  std::string parameters, directive;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "a" + std::to_string(i);
    body += "    if " + name + ":\n        t = t + 1\n";
    parameters += ", " + name + ": tl.constexpr";
    directive += (i ? ", " : "") + name + "=True";
  }
  EXPECT_EQ(
      described(visibilityOf("# tessera: pattern(" + directive +
                             ")\n@triton.jit\ndef sees(t, pos" + parameters +
                             "):\n" + body + "    return t < pos\n")
                    .diagnostics),
      "3: `sees` has more than 32 combinations of compile-time "
      "conditions / write sees_tile, key_range and query_range in the "
      "module\n");
  for (int i = 0; i < 40; ++i)
    doubled += "    x = x + x\n";
  EXPECT_EQ(described(visibilityOf("@triton.jit\ndef sees(t, pos):\n" +
                                   doubled + "    return x < pos\n")
                          .diagnostics),
            "13: `sees` has an expression of more than 2000 operations / write "
            "sees_tile, key_range and query_range in the module\n");
}

TEST(Gradients, ReportWhatCannotBeDifferentiated) {
  const Underivable cases[] = {
      {"return s // 2",
       "4: `s // 2` of `modify` cannot be differentiated by `s` / write "
       "modify_grad in the module\n"},
      {"return s + tl.erf(a)",
       "4: `tl.erf(a)` of `modify` cannot be differentiated by `a` / write "
       "modify_grad_a in the module\n"},
      {"return s.to(tl.int32)",
       "4: `s.to(tl.int32)` of `modify` cannot be differentiated by `s` / "
       "write modify_grad in the module\n"},
      {"if s > 0:\n        s = a\n    return s",
       "4: `modify` has an `if` on a value of the run time / write modify_grad "
       "and modify_grad_a in the module\n"},
  };
  for (const Underivable &one : cases) {
    const Gradients gradients =
        gradientsOf("# tessera: learned(a=[Hq])\n@triton.jit\ndef modify(s, t, "
                    "pos, head, a):\n    " +
                    std::string(one.body) + "\n");
    EXPECT_EQ(described(gradients.diagnostics), one.described);
    EXPECT_EQ(gradients.text, "");
  }
}

TEST(Gradients, KeepFunctionsOfTheModule) {
  const Gradients gradients = gradientsOf(
      "# tessera: learned(a=[Hq])\n@triton.jit\ndef modify(s, t, pos, head, "
      "a):\n    return tl.erf(s) * a\n\n@triton.jit\ndef modify_grad(s, t, "
      "pos, "
      "head, a):\n    return a\n");
  EXPECT_EQ(described(gradients.diagnostics), "");
  EXPECT_EQ(gradients.userDefined, std::vector<std::string>{"modify_grad"});
  EXPECT_EQ(gradients.learned, std::vector<std::string>{"a"});
  EXPECT_FALSE(gradients.unitSlope);
  EXPECT_EQ(gradients.text,
            "@triton.jit\ndef modify_grad_a(s, t, pos, head, a):\n    "
            "\"\"\"Returns the derivative of modify by a.\"\"\"\n    return "
            "tl.erf(s)\n");
}

} // namespace
} // namespace tessera::language
