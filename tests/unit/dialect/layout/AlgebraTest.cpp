// tests/unit/dialect/layout/AlgebraTest.cpp - laws of the algebra on random
// maps.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/LinearLayout.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <set>

using namespace tessera::layout;

namespace {

constexpr int iterations = 200;
const Extents places = {{Dim::Register, 3}, {Dim::Lane, 5}, {Dim::Warp, 2}};
const Extents tile = {{Dim::Dim0, 4}, {Dim::Dim1, 6}};

// The image by enumeration: no elimination involved.
std::set<Word> image(const LinearLayout &layout) {
  std::set<Word> result;
  for (Word x = 0; x < Word(1) << layout.inBits(); ++x)
    result.insert(layout.apply(x));
  return result;
}

} // namespace

TEST(F2, RankAndKernelAgainstEnumeration) {
  Random random(1);
  for (int i = 0; i < iterations; ++i) {
    const int count = random.below(9), bits = 1 + random.below(8);
    const LinearLayout map({{Dim::Register, count}}, {{Dim::Dim0, bits}},
                           random.columns(count, bits));
    EXPECT_EQ(Word(1) << map.rank(), image(map).size());
    std::set<Word> zero;
    for (Word x = 0; x < Word(1) << count; ++x)
      if (!map.apply(x))
        zero.insert(x);
    std::set<Word> spanned;
    const auto kernel = map.kernel();
    for (Word x = 0; x < Word(1) << kernel.size(); ++x)
      spanned.insert(multiply(kernel, x));
    EXPECT_EQ(zero, spanned);
  }
}

TEST(F2, SpanSolves) {
  Random random(2);
  for (int i = 0; i < iterations; ++i) {
    const auto columns = random.columns(6, 7);
    const Span span(columns);
    std::set<Word> reachable;
    for (Word x = 0; x < 64; ++x)
      reachable.insert(multiply(columns, x));
    for (Word v = 0; v < 128; ++v) {
      const auto x = span.solve(v);
      EXPECT_EQ(x.has_value(), reachable.count(v) == 1);
      EXPECT_EQ(span.contains(v), x.has_value());
      if (x) {
        EXPECT_EQ(multiply(columns, *x), v);
      }
    }
  }
}

TEST(F2, IntersectionAgainstEnumeration) {
  Random random(3);
  for (int i = 0; i < iterations; ++i) {
    const auto a = random.columns(1 + random.below(5), 7),
               b = random.columns(1 + random.below(5), 7);
    const Span in(intersection(a, b)), left(a), right(b);
    for (Word v = 0; v < 128; ++v)
      EXPECT_EQ(in.contains(v), left.contains(v) && right.contains(v));
  }
}

TEST(LinearLayout, IsLinear) {
  Random random(4);
  for (int i = 0; i < iterations; ++i) {
    const LinearLayout map = random.map(places, tile);
    const Word a = random.word(10), b = random.word(10);
    EXPECT_EQ(map.apply(a ^ b), map.apply(a) ^ map.apply(b));
    EXPECT_EQ(map.apply(0), 0u);
  }
}

TEST(LinearLayout, AtNamesTheFlatWord) {
  Random random(5);
  const LinearLayout map = random.map(places, tile);
  for (int r = 0; r < 8; ++r)
    for (int l = 0; l < 32; ++l)
      for (int w = 0; w < 4; ++w) {
        const Word flat = map.apply(Word(r) | Word(l) << 3 | Word(w) << 8);
        EXPECT_EQ(
            map.at({{Dim::Warp, w}, {Dim::Register, r}, {Dim::Lane, l}}),
            (std::vector<int64_t>{int64_t(flat & 15), int64_t(flat >> 4)}));
      }
}

TEST(LinearLayout, ProductPutsTheRightSideAbove) {
  Random random(6);
  for (int i = 0; i < iterations; ++i) {
    const LinearLayout a = random.map({{Dim::Register, 2}, {Dim::Lane, 3}},
                                      {{Dim::Dim0, 2}, {Dim::Dim1, 2}}),
                       b = random.map({{Dim::Lane, 2}, {Dim::Warp, 1}},
                                      {{Dim::Dim1, 3}, {Dim::Dim0, 1}});
    const LinearLayout ab = a * b;
    EXPECT_EQ(ab.inBits(Dim::Lane), 5);
    EXPECT_EQ(ab.outBits(Dim::Dim1), 5);
    for (int r = 0; r < 4; ++r)
      for (int l = 0; l < 32; ++l)
        for (int w = 0; w < 2; ++w) {
          const auto low = a.at({{Dim::Register, r}, {Dim::Lane, l % 8}}),
                     high = b.at({{Dim::Lane, l / 8}, {Dim::Warp, w}});
          EXPECT_EQ(ab.at({{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}}),
                    (std::vector<int64_t>{low[0] + 4 * high[1],
                                          low[1] + 4 * high[0]}));
        }
    // Associative, with a neutral element.
    const LinearLayout c = random.map({{Dim::Warp, 2}}, {{Dim::Dim0, 2}});
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(LinearLayout() * a, a);
    EXPECT_EQ(a * LinearLayout(), a);
  }
}

TEST(LinearLayout, CompositionIsAssociative) {
  Random random(7);
  const Extents middle = {{Dim::Offset, 10}};
  for (int i = 0; i < iterations; ++i) {
    const LinearLayout a = random.map(places, tile),
                       b = random.map(tile, middle),
                       c = random.map(middle, places);
    EXPECT_EQ(a.then(b).then(c), a.then(b.then(c)));
    const Word x = random.word(10);
    EXPECT_EQ(a.then(b).apply(x), b.apply(a.apply(x)));
  }
  // Dims are matched by name, not by position.
  const LinearLayout a = random.map(places, tile), b = random.map(tile, middle);
  EXPECT_EQ(a.reorderOuts({Dim::Dim1, Dim::Dim0}).then(b), a.then(b));
}

TEST(LinearLayout, Inverse) {
  Random random(8);
  for (int i = 0; i < iterations; ++i) {
    const LinearLayout map(places, tile, random.invertible(10));
    const LinearLayout inverse = map.inverse();
    for (Word x = 0; x < 1024; ++x)
      ASSERT_EQ(inverse.apply(map.apply(x)), x);
    EXPECT_EQ(inverse.inverse(), map);
    const LinearLayout other(places, tile, random.invertible(10));
    // (ab)^-1 = b^-1 a^-1
    const LinearLayout step = other.inverse();
    EXPECT_EQ(map.then(step).inverse(), other.then(map.inverse()));
  }
}

TEST(LinearLayout, PseudoInversePicksZeroInFreeBits) {
  Random random(9);
  int tried = 0;
  for (int i = 0; i < iterations; ++i) {
    const LinearLayout map = random.map(places, {{Dim::Dim0, 6}});
    if (!map.isSurjective()) {
      EXPECT_LT(image(map).size(), 64u);
      EXPECT_THROW(map.pseudoInverse(), LayoutError);
      continue;
    }
    ++tried;
    const LinearLayout inverse = map.pseudoInverse();
    Word free = 0;
    int count = 0;
    for (const Extent &in : map.ins())
      free |= map.freeBits(in.dim) << map.inStart(in.dim);
    for (int bit = 0; bit < 10; ++bit)
      count += free >> bit & 1;
    EXPECT_EQ(count, 10 - map.rank());
    for (Word y = 0; y < 64; ++y) {
      EXPECT_EQ(map.apply(inverse.apply(y)), y);
      EXPECT_EQ(inverse.apply(y) & free, 0u);
    }
    // The inputs with 0 in the free bits map to every element once.
    std::set<Word> seen;
    for (Word x = 0; x < 1024; ++x)
      if (!(x & free))
        seen.insert(map.apply(x));
    EXPECT_EQ(seen.size(), 64u);
  }
  EXPECT_GT(tried, 50);
}

TEST(LinearLayout, SublayoutAndQuestions) {
  const LinearLayout map =
      identity(4, Dim::Register, Dim::Dim1) * zeros(2, Dim::Lane, Dim::Dim0) *
      identity(8, Dim::Lane, Dim::Dim0) * identity(2, Dim::Warp, Dim::Dim1);
  EXPECT_TRUE(
      map.sublayout({Dim::Register}, {Dim::Dim0}).isZero(Dim::Register));
  EXPECT_EQ(map.sublayout({Dim::Lane}, {Dim::Dim0}),
            zeros(2, Dim::Lane, Dim::Dim0) * identity(8, Dim::Lane, Dim::Dim0));
  EXPECT_EQ(map.freeBits(Dim::Lane), 1u);
  EXPECT_EQ(map.freeBits(Dim::Register), 0u);
  EXPECT_EQ(map.kernel(), std::vector<Word>{Word(4)});
  EXPECT_TRUE(map.isSurjective());
  EXPECT_FALSE(map.isInjective());
  EXPECT_TRUE(
      identity(8, Dim::Lane, Dim::Dim0).isIdentity(Dim::Lane, Dim::Dim0));
  EXPECT_FALSE(map.isIdentity(Dim::Register, Dim::Dim1)); // warp goes there too
  EXPECT_EQ(map.pickBits(Dim::Register, {1, 0}).basis(Dim::Register, 0),
            map.basis(Dim::Register, 1));
  EXPECT_EQ(map.str(), "register: (1,0) (2,0)\nlane: (0,0) (0,1) (0,2) (0,4)\n"
                       "warp: (4,0)\n-> dim1:8 dim0:8\n");
}

TEST(LinearLayout, RefusesWhatIsNotALayout) {
  EXPECT_THROW(identity(6, Dim::Lane, Dim::Dim0), LayoutError);
  EXPECT_THROW(identity(0, Dim::Lane, Dim::Dim0), LayoutError);
  EXPECT_THROW(
      LinearLayout({{Dim::Lane, {{16, 0}}}}, {{Dim::Dim0, 16}, {Dim::Dim1, 8}}),
      LayoutError);
  EXPECT_THROW(
      LinearLayout({{Dim::Lane, {{1}}}}, {{Dim::Dim0, 16}, {Dim::Dim1, 8}}),
      LayoutError);
  EXPECT_THROW(zeros(2, Dim::Lane, Dim::Dim0).inverse(), LayoutError);
  EXPECT_THROW(identity(4, Dim::Lane, Dim::Dim0)
                   .then(identity(2, Dim::Dim0, Dim::Offset)),
               LayoutError);
  EXPECT_THROW(identity(4, Dim::Lane, Dim::Dim0).at({{Dim::Lane, 4}}),
               LayoutError);
  EXPECT_THROW(tileDim(maxRank), LayoutError);
}
