// tests/unit/codegen/TupleTest.cpp - tuples of constexprs through helpers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

using namespace tessera;

namespace {

const char *const helpers = R"(
@triton.jit
def give(shape):
    return shape

@triton.jit
def swapped(shape):
    m: tl.constexpr = shape[0]
    return shape[1], m

@triton.jit
def choose(shape, first: tl.constexpr):
    if first:
        return give(shape)
    return swapped(shape)

@triton.jit
def mixed(x, shape):
    return x * 2, shape[0]

@triton.jit
def later(n, shape):
    if n > 5:
        return shape[0], 1
    return shape[1], 2

@triton.jit
def scaled(X, O, shape):
    i = tl.arange(0, shape[0])
    tl.store(O + i, tl.load(X + i) * shape[1])

@triton.jit
def k(X, O, n, M: tl.constexpr, F: tl.constexpr):
    $BODY
)";

// The body stores x * FACTOR for the first COUNT elements.
void check(const std::string &body, int count, float factor) {
  SCOPED_TRACE(body);
  std::string text = helpers;
  text.replace(text.find("$BODY"), 5, body);
  const TileKernel kernel =
      textKernel(text, "k", "X=*fp32 O=*fp32 n=i32 M:16 F:3", CpuTarget());
  std::vector<float> x(32), o(32, -1), expected(32, -1);
  for (int i = 0; i < 32; ++i)
    x[i] = float(i + 1);
  for (int i = 0; i < count; ++i)
    expected[i] = x[i] * factor;
  kernel.run({1}, x.data(), o.data(), 7);
  EXPECT_EQ(o, expected);
}

TEST(Tuples, ConstexprsStayKnownThroughHelpers) {
  check("scaled(X, O, give((M, F)))", 16, 3);
  check("scaled(X, O, swapped((F, M)))", 16, 3);
  check("scaled(X, O, swapped(swapped(give((M, F)))))", 16, 3);
  check("scaled(X, O, choose((M, F), True))", 16, 3);
  check("scaled(X, O, choose((F, M), False))", 16, 3);
  check("s: tl.constexpr = give((M, F))\n    scaled(X, O, s)", 16, 3);
  check("s: tl.constexpr = give((M, F))[0]\n    scaled(X, O, (s, 2))", 16, 2);
  check("i = tl.arange(0, give((M, F))[0])\n"
        "    tl.store(O + i, tl.load(X + i))",
        16, 1);
}

// A name has run-time values, as under Triton: it may change in a loop.
TEST(Tuples, NamesHaveRunTimeValues) {
  check("a, b = give((M, F))\n    for j in range(n):\n        b += 1\n"
        "    i = tl.arange(0, 16)\n    tl.store(O + i, tl.load(X + i) * b)",
        16, 10);
  check("t = give((M, F))\n    i = tl.arange(0, 16)\n    f = t[1]\n"
        "    for j in range(n):\n        f += t[1]\n"
        "    tl.store(O + i, tl.load(X + i) * f)",
        16, 24);
  check("i = tl.arange(0, 16)\n    y, f = mixed(tl.load(X + i), (F, M))\n"
        "    f -= 1\n    tl.store(O + i, y * f)",
        16, 4);
  check("i = tl.arange(0, 16)\n    f, g = later(n, (F, M))\n    f += g\n"
        "    tl.store(O + i, tl.load(X + i) * f)",
        16, 4);
}

} // namespace
