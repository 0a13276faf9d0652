// tests/unit/compiler/semantics/ControlTest.cpp - if, for, return, helpers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/semantics/Harness.h"

#include <gtest/gtest.h>

namespace tessera::semantics::test {
namespace {

size_t count(const std::string &text, const std::string &word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1))
    ++found;
  return found;
}

std::string lowerBody(const std::string &body) {
  Lowered lowered = lower(
      "@triton.jit\n"
      "def k(p, n, N: tl.constexpr, FLAG: tl.constexpr):\n" +
          body,
      "k",
      {arg("p", "*fp32"), arg("n", "i32"), constant("N", language::Value(4)),
       constant("FLAG", language::Value(false))});
  EXPECT_EQ(lowered.message, "");
  return lowered.ir;
}

TEST(Control, IfMergesChangedNames) {
  std::string ir = lowerBody("    a = 1.0\n"
                             "    same = 2.0\n"
                             "    if n > 3:\n"
                             "        a = a + 1\n"
                             "        c = n\n"
                             "    else:\n"
                             "        c = n + 1\n"
                             "    tl.store(p + c, a + same)\n");
  EXPECT_EQ(missing(ir, {"scf.if", "-> (f32, i32)", "} else {", "tile.store"}),
            "")
      << ir;
}

TEST(Control, DeadArmIsNotVisited) {
  std::string ir = lowerBody("    if FLAG:\n"
                             "        tl.no_such_thing()\n"
                             "    else:\n"
                             "        tl.store(p, 1.0)\n");
  EXPECT_EQ(missing(ir, {"tile.store", "no scf.if"}), "") << ir;
}

TEST(Control, ConditionOfAnIntegerIsNotZero) {
  std::string ir = lowerBody("    if n:\n"
                             "        tl.store(p, 1.0)\n");
  EXPECT_EQ(missing(ir, {"arith.cmpi ne", "scf.if"}), "") << ir;
}

TEST(Control, WhileCarriesWhatItChanges) {
  std::string ir = lowerBody("    i = 0\n"
                             "    same = n\n"
                             "    x = tl.load(p + tl.arange(0, 16))\n"
                             "    while i < n:\n"
                             "        x = x + same\n"
                             "        inner = i\n"
                             "        i = inner + 1\n"
                             "    tl.store(p + tl.arange(0, 16), x + i)\n");
  EXPECT_EQ(missing(ir, {"scf.while", "(i32, tensor<16xf32>)", "arith.cmpi slt",
                         "scf.condition", "^bb0", "scf.yield", "tile.store"}),
            "")
      << ir;
}

TEST(Control, WhileConditionIsEvaluatedEachTime) {
  std::string ir = lowerBody("    while tl.load(p) > 1.0:\n"
                             "        tl.store(p, 0.0)\n");
  EXPECT_EQ(missing(ir, {"scf.while", "tile.load", "scf.condition", "} do {",
                         "tile.store", "scf.yield"}),
            "")
      << ir;
  ir = lowerBody("    while FLAG:\n        tl.no_such_thing()\n");
  EXPECT_EQ(missing(ir, {"no scf.while"}), "") << ir;
}

TEST(Control, ReturnedNumbersAreRunTimeValues) {
  Lowered lowered = lower("@triton.jit\n"
                          "def pick(n):\n"
                          "    if n > 3:\n"
                          "        return n\n"
                          "    return 7\n"
                          "@triton.jit\n"
                          "def k(p, n):\n"
                          "    tl.store(p + pick(n), 1.0)\n",
                          "k", {arg("p", "*fp32"), arg("n", "i32")});
  EXPECT_EQ(lowered.message, "");
  EXPECT_EQ(missing(lowered.ir, {"scf.if", "-> (i32)", "tile.store"}), "")
      << lowered.ir;
}

TEST(Control, ConstexprFunctionsRunAtOnce) {
  Lowered lowered = lower("@triton.constexpr_function\n"
                          "def first(values, n):\n"
                          "    for i in range(len(values)):\n"
                          "        if values[i] < n:\n"
                          "            continue\n"
                          "        if values[i] > 100:\n"
                          "            break\n"
                          "        return i\n"
                          "    return -1\n"
                          "@triton.jit\n"
                          "def k(p):\n"
                          "    tl.static_assert(first((1, 5, 9), 4) == 1)\n"
                          "    tl.static_assert(first((1, 500, 9), 4) == -1)\n"
                          "    tl.static_assert(len([v for v in (1, 2, 3) if v "
                          "> 1]) == 2)\n"
                          "    tl.static_assert(f'{1 + 1} {{x}}' == '2 {x}')\n",
                          "k", {arg("p", "*fp32")});
  EXPECT_EQ(lowered.message, "");
}

TEST(Control, HintsAreAttributes) {
  std::string ir = lowerBody(
      "    r = tl.max_contiguous(tl.multiple_of(tl.arange(0, 16) + n, 8), 16)\n"
      "    tl.store(p + r, 1.0)\n");
  EXPECT_EQ(missing(ir, {"tile.contiguity = array<i32: 16>"}), "") << ir;
  EXPECT_NE(ir.find("tile.divisibility = array<i32: 8>"), std::string::npos);
}

TEST(Control, SpecializedArgumentsMayChange) {
  Lowered lowered =
      lower("@triton.jit\n"
            "def k(p, n):\n"
            "    while n < 9:\n"
            "        n = n * 2\n"
            "    tl.store(p + n, 1.0)\n",
            "k", {arg("p", "*fp32"), constant("n", language::Value(1))});
  EXPECT_EQ(lowered.message, "");
  EXPECT_EQ(missing(lowered.ir, {"scf.while", "i32", "tile.store"}), "")
      << lowered.ir;
}

TEST(Control, AssertionsAreForDebugBuilds) {
  std::string ir = lowerBody("    assert n > 3, 'small'\n"
                             "    tl.device_assert(n > 3)\n");
  EXPECT_EQ(missing(ir, {"no tile.assert"}), "") << ir;
}

TEST(Control, EarlyReturnGuardsTheRest) {
  std::string ir = lowerBody("    if n > 3:\n"
                             "        return\n"
                             "    tl.store(p, 1.0)\n"
                             "    if n > 2:\n"
                             "        return\n"
                             "    tl.store(p + 1, 1.0)\n");
  EXPECT_EQ(missing(ir, {"scf.if", "} else {", "tile.store", "scf.if",
                         "} else {", "tile.store", "return"}),
            "")
      << ir;
  EXPECT_EQ(count(ir, "tile.store"), 2u) << ir;
}

TEST(Control, ReturnInAConstexprArm) {
  std::string ir = lowerBody("    if N == 4:\n"
                             "        if n > 3:\n"
                             "            return\n"
                             "    tl.store(p, 1.0)\n");
  EXPECT_EQ(missing(ir, {"scf.if", "} else {", "tile.store"}), "") << ir;
  ir = lowerBody("    if N == 4:\n"
                 "        return\n"
                 "    tl.store(p, 1.0)\n");
  EXPECT_EQ(missing(ir, {"return", "no tile.store"}), "") << ir;
}

TEST(Control, LoopCarriesWhatChanges) {
  std::string ir = lowerBody("    total = 0.0\n"
                             "    kept = 5.0\n"
                             "    for i in range(0, n, 2):\n"
                             "        total += tl.load(p + i) * kept\n"
                             "        local = total\n"
                             "    tl.store(p, total)\n");
  EXPECT_EQ(missing(ir, {"scf.for %arg2 = %", "iter_args(%arg3 = %", "-> (f32)",
                         ": i32 {", "scf.yield", "tile.store"}),
            "")
      << ir;
  EXPECT_EQ(count(ir, "tile.load"), 1u) << "the dry run left ops behind" << ir;
}

TEST(Control, NestedLoops) {
  std::string ir = lowerBody("    total = 0.0\n"
                             "    for i in range(n):\n"
                             "        for j in range(i):\n"
                             "            if j > 2:\n"
                             "                total += 1.0\n"
                             "    tl.store(p, total)\n");
  EXPECT_EQ(count(ir, "scf.for"), 2u) << ir;
  EXPECT_EQ(count(ir, "scf.if"), 1u) << ir;
}

TEST(Control, NegativeStepIsMirrored) {
  std::string ir = lowerBody("    for i in range(n, 0, -3):\n"
                             "        tl.store(p + i, 1.0)\n");
  // for j = 0 to n step 3: i = n - j + 0
  EXPECT_EQ(
      missing(ir, {"scf.for", "arith.subi %arg1", "arith.addi", "tile.addptr"}),
      "")
      << ir;
}

TEST(Control, WideBoundWidensTheInductionVariable) {
  std::string ir = lowerBody("    for i in range(0, n.to(tl.int64)):\n"
                             "        tl.store(p + i, 1.0)\n");
  EXPECT_EQ(missing(ir, {"scf.for", ": i64"}), "") << ir;
}

TEST(Control, StaticRangeUnrolls) {
  std::string ir = lowerBody("    for i in tl.static_range(N):\n"
                             "        for j in tl.static_range(2, 0, -1):\n"
                             "            tl.store(p + i * 2 + j, 1.0)\n");
  EXPECT_EQ(missing(ir, {"no scf.for"}), "") << ir;
  EXPECT_EQ(count(ir, "tile.store"), 8u) << ir;
}

TEST(Control, LoopOptions) {
  std::string ir = lowerBody("    for i in tl.range(0, n, num_stages=3):\n"
                             "        tl.store(p + i, 1.0)\n");
  EXPECT_EQ(missing(ir, {"tile.num_stages = 3 : i32"}), "") << ir;
}

TEST(Control, BlockPointersCrossLoops) {
  std::string ir =
      lowerBody("    q = tl.make_block_ptr(p, (n,), (1,), (0,), (16,), (0,))\n"
                "    total = tl.zeros((16,), tl.float32)\n"
                "    for i in range(0, n, 16):\n"
                "        total += tl.load(q, boundary_check=(0,))\n"
                "        q = tl.advance(q, (16,))\n"
                "    tl.store(p, tl.sum(total))\n");
  EXPECT_EQ(missing(ir, {"scf.for", "iter_args", "tile.load"}), "") << ir;
}

const char *const kHelpers = "@triton.jit\n"
                             "def twice(x, by=2):\n"
                             "    return x * by\n"
                             "@triton.jit\n"
                             "def pair(x, y):\n"
                             "    return twice(x), y\n"
                             "@triton.jit\n"
                             "def pick(n):\n"
                             "    if n > 3:\n"
                             "        return n\n"
                             "    return n + 1\n";

TEST(Control, HelpersAreInlined) {
  Lowered lowered =
      lower(std::string(kHelpers) + "@triton.jit\n"
                                    "def k(p, n):\n"
                                    "    a, b = pair(n, y=1.5)\n"
                                    "    tl.store(p + a + pick(n), b)\n",
            "k", {arg("p", "*fp32"), arg("n", "i32")});
  EXPECT_EQ(missing(lowered.ir, {"func.func @k", "arith.muli", "scf.if",
                                 "-> (i32)", "tile.store", "no call"}),
            "")
      << lowered.message << lowered.ir;
  EXPECT_EQ(count(lowered.ir, "func.func"), 1u);
}

TEST(Control, ConstexprArgumentsStayConstexprInHelpers) {
  Lowered lowered = lower("@triton.jit\n"
                          "def block(n):\n"
                          "    return tl.arange(0, n)\n"
                          "@triton.jit\n"
                          "def k(p):\n"
                          "    tl.store(p + block(8), 1.0)\n",
                          "k", {arg("p", "*fp32")});
  EXPECT_EQ(missing(lowered.ir, {"tile.range 0, 8"}), "") << lowered.message;
}

// Two paths that return two numbers: run-time values, as under Triton.
TEST(Control, HelperReturnsOneOfTwoNumbers) {
  Lowered lowered = lower("@triton.jit\n"
                          "def weight(n):\n"
                          "    if n > 3:\n"
                          "        return 0.5\n"
                          "    return 1.5\n"
                          "@triton.jit\n"
                          "def k(p, n):\n"
                          "    tl.store(p, weight(n))\n",
                          "k", {arg("p", "*fp32"), arg("n", "i32")});
  EXPECT_EQ(lowered.message, "");
  EXPECT_EQ(missing(lowered.ir, {"scf.if", "-> (f32)", "tile.store"}), "")
      << lowered.ir;
}

} // namespace
} // namespace tessera::semantics::test
