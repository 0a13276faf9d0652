// tests/unit/language/pattern/PatternTest.cpp - directives and functions of a
// pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/language/pattern/Helpers.h"

#include "language/Decorators.h"
#include "language/Program.h"

#include <gtest/gtest.h>

namespace tessera::language {
namespace {

const char *const complete = R"(
# tessera: pattern(window=512, ratio=-0.5, causal=True, kind="near")
# tessera: per_sequence(prefix=i32)
@triton.jit
def sees(t, pos, head, prefix, window: tl.constexpr, causal: tl.constexpr):
    return pos <= t

# tessera: learned(slope=[Hq], bias=[Hq, 64])
@triton.jit
def modify(s, t, pos, head, slope, ratio: tl.constexpr, kind: tl.constexpr):
    return s

@triton.jit
def modify_grad_slope(s, t, pos, head, slope, ratio, kind):
    return 0.0
)";

TEST(Pattern, ReadsDirectivesAndFunctions) {
  const ReadPattern read = patternOf(complete);
  const Pattern &pattern = read.pattern;
  EXPECT_EQ(described(read.diagnostics), "");
  ASSERT_EQ(pattern.parameters.size(), 4u);
  EXPECT_EQ(pattern.parameters[0].name, "window");
  EXPECT_TRUE(pattern.parameters[0].defaultValue.identical(512));
  EXPECT_TRUE(pattern.findParameter("ratio")->defaultValue.identical(-0.5));
  EXPECT_TRUE(pattern.findParameter("causal")->defaultValue.identical(true));
  EXPECT_TRUE(pattern.findParameter("kind")->defaultValue.identical("near"));
  ASSERT_EQ(pattern.perSequence.size(), 1u);
  EXPECT_EQ(pattern.findPerSequence("prefix")->type, "i32");
  ASSERT_EQ(pattern.learned.size(), 2u);
  EXPECT_EQ(pattern.learned[1].shape, (std::vector<std::string>{"Hq", "64"}));
  EXPECT_EQ(pattern.sees->name, "sees");
  EXPECT_EQ(pattern.modify->name, "modify");
  EXPECT_EQ(pattern.seesTile, nullptr);
  EXPECT_EQ(pattern.modifyGrad, nullptr);
  ASSERT_EQ(pattern.modifyGradOf.size(), 2u);
  EXPECT_NE(pattern.modifyGradOf[0], nullptr);
  EXPECT_EQ(pattern.modifyGradOf[1], nullptr);
  EXPECT_EQ(pattern.findLearned("window"), nullptr);
}

struct Wrong {
  const char *directives, *parameters, *described;
};

TEST(Pattern, ReportsErrorsWithLocationAndRemedy) {
  const Wrong cases[] = {
      {"pattern(window=4)", "",
       "1: no function takes `window` / add the "
       "parameter to `sees` or `modify`, or remove it "
       "from the directive\n"},
      {"pattern(windw=4)", ", window: tl.constexpr",
       "3: no directive declares the parameter `window` / did you mean "
       "`windw`?\n1: no function takes `windw` / did you mean `window`?\n"},
      {"pattern()", ", size: tl.constexpr",
       "3: no directive declares the parameter `size` / write # tessera: "
       "pattern(size=DEFAULT) above the function\n"},
      {"pattern(a=1, a=2)", ", a: tl.constexpr",
       "1: malformed directive: `a` is given twice / write # tessera: "
       "pattern(window=512)\n"},
      {"pattern(a=1)\n# tessera: learned(a=[Hq])", ", a: tl.constexpr",
       "2: `a` is declared twice / remove one of the two\n"},
      {"pattern(t=1)", "",
       "1: `t` is an argument of every pattern / give the parameter another "
       "name\n"},
      {"pattern(a=[1])", "",
       "1: the default of `a` must be an int, float, bool or string / write "
       "pattern(a=64)\n"},
      {"pattern(a=1)", ", a",
       "3: `a` of `sees` must be a tl.constexpr / write a: tl.constexpr\n"},
      {"per_sequence(p=i32)", ", p: tl.constexpr",
       "3: `p` of `sees` is known at run time only / write p without "
       "tl.constexpr\n"},
      {"per_sequence(p=i33)", "",
       "1: `i33` is not the type of a value of a sequence / write "
       "per_sequence(p=i32)\n"},
      {"learned(a=Hq)", "",
       "1: the shape of `a` must be a list of sizes / write learned(a=[Hq])\n"},
      {"learned(a=[Hq])", ", a",
       "3: `sees` takes the learned parameter `a` / use it in `modify` only\n"},
      {"tiles(BM=64)", "",
       "1: tiles(...) takes the rows BM and the keys BN, powers of two from 16 "
       "to 128, and may take RUN, a power of two from BN / 16 to BN / 2 / "
       "write # tessera: tiles(BM=64, BN=32), or with runs tiles(BM=64, "
       "BN=32, RUN=16)\n"},
      {"tiles(BM=64, BN=32, RUN=32)", "",
       "1: tiles(...) takes the rows BM and the keys BN, powers of two from 16 "
       "to 128, and may take RUN, a power of two from BN / 16 to BN / 2 / "
       "write # tessera: tiles(BM=64, BN=32), or with runs tiles(BM=64, "
       "BN=32, RUN=16)\n"},
      {"tiles(BM=64, BN=128, RUN=4)", "",
       "1: tiles(...) takes the rows BM and the keys BN, powers of two from 16 "
       "to 128, and may take RUN, a power of two from BN / 16 to BN / 2 / "
       "write # tessera: tiles(BM=64, BN=32), or with runs tiles(BM=64, "
       "BN=32, RUN=16)\n"},
      {"tiles(BM=64, BN=32, RUN=3)", "",
       "1: tiles(...) takes the rows BM and the keys BN, powers of two from 16 "
       "to 128, and may take RUN, a power of two from BN / 16 to BN / 2 / "
       "write # tessera: tiles(BM=64, BN=32), or with runs tiles(BM=64, "
       "BN=32, RUN=16)\n"},
      {"tiles(BM=64, BN=32, BM=64)", "",
       "1: malformed directive: `BM` is given twice / write # tessera: "
       "tiles(BM=64, BN=32), or with runs tiles(BM=64, BN=32, RUN=16)\n"},
      {"tiles(BM=64, BN=32)\n# tessera: tiles(BM=64, BN=16)", "",
       "2: tiles(...) is declared twice / remove one of the two\n"},
      {"tiles(BM=64, BN=24)", "",
       "1: tiles(...) takes the rows BM and the keys BN, powers of two from 16 "
       "to 128, and may take RUN, a power of two from BN / 16 to BN / 2 / "
       "write # tessera: tiles(BM=64, BN=32), or with runs tiles(BM=64, "
       "BN=32, RUN=16)\n"},
      {"pattern(4)", "",
       "1: a directive takes names and values / write # tessera: "
       "pattern(window=512)\n"},
      {"pattern(a=)", "",
       "1: malformed directive: expected an expression, found `)` / write # "
       "tessera: pattern(window=512)\n"},
  };
  for (const Wrong &one : cases) {
    const ReadPattern read =
        patternOf("# tessera: " + std::string(one.directives) +
                  "\n@triton.jit\ndef sees(t, pos" + one.parameters +
                  "):\n    return pos <= t\n");
    EXPECT_EQ(described(read.diagnostics), one.described) << one.directives;
  }
}

TEST(Pattern, RequiresTheFixedParameters) {
  EXPECT_EQ(described(patternOf("@triton.jit\ndef sees(pos, t):\n    return "
                                "pos <= t\n")
                          .diagnostics),
            "2: `sees` must take `t` as parameter 1 / write def sees(t, pos, "
            "...)\n");
  EXPECT_EQ(
      described(patternOf("@triton.jit\ndef modify(s, t, pos):\n    return s\n")
                    .diagnostics),
      "2: `modify` must take `head` as parameter 4 / write def modify(s, t, "
      "pos, head, ...)\n");
}

TEST(Pattern, RequiresJit) {
  EXPECT_EQ(
      described(
          patternOf("def sees(t, pos):\n    return pos <= t\n").diagnostics),
      "1: `sees` is not compiled / write @triton.jit above it\n");
}

TEST(Pattern, IsFoundInText) {
  EXPECT_TRUE(isPattern("#tessera: pattern(window=4)\n"));
  EXPECT_TRUE(isPattern("import triton\n# tessera:  pattern (a=1)\n"));
  EXPECT_FALSE(isPattern("@triton.jit\ndef sees(t, pos):\n"));
  EXPECT_FALSE(isPattern("def modify(s, t, pos, head):\n"));
  EXPECT_FALSE(isPattern("# tessera: cpu(BM=32)\ndef seesaw(t):\n"));
  EXPECT_FALSE(isPattern("pattern(window=4)\n    def sees(t, pos):\n"));
  EXPECT_FALSE(isPattern(""));
}

TEST(Pattern, DirectivesAreNotHintsOfTheFunction) {
  std::string text(complete);
  const std::string unused = ", bias=[Hq, 64]";
  text.erase(text.find(unused), unused.size());
  const auto program = Program::load(
      "pair.py", "import triton\nimport triton.language as tl\n" + text);
  const std::vector<ListedKernel> kernels = listKernels(*program);
  EXPECT_GE(kernels.size(), 7u); // functions of the file, and kernels
  for (const ListedKernel &kernel : kernels)
    EXPECT_EQ(described(kernel.problems), "");
}

} // namespace
} // namespace tessera::language
