// tests/unit/dialect/layout/QuestionsTest.cpp - sublayouts, orders and
// properties of random maps, against enumeration of all inputs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/ShapeOps.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace tessera::layout;

namespace {

constexpr int questionRounds = 100;
const Extents questionPlaces = {
    {Dim::Register, 2}, {Dim::Lane, 3}, {Dim::Warp, 2}};
const Extents questionTile = {{Dim::Dim0, 3}, {Dim::Dim1, 4}};

// Calls `use` with each register, lane and warp.
template <typename Use>
void forPlaces(Use use) {
  for (int64_t w = 0; w < 4; ++w)
    for (int64_t l = 0; l < 8; ++l)
      for (int64_t r = 0; r < 4; ++r)
        use(r, l, w);
}

// Random, with many zeros and repeated columns, so that there is something to
// ask about.
LinearLayout degenerate(Random &random, const Extents &ins,
                        const Extents &outs) {
  LinearLayout map = random.map(ins, outs);
  std::vector<Word> columns = map.columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    const int what = random.below(5);
    if (what == 0)
      columns[i] = 0;
    else if (what == 1 && i)
      columns[i] = columns[size_t(random.below(int(i)))];
    else if (what == 2 && i > 1)
      columns[i] = columns[i - 1] ^ columns[i - 2];
  }
  return {ins, outs, columns};
}

} // namespace

TEST(Questions, SublayoutFixesAndDrops) {
  Random random(21);
  for (int i = 0; i < questionRounds; ++i) {
    const LinearLayout map = random.map(questionPlaces, questionTile),
                       part = map.sublayout({Dim::Register, Dim::Warp},
                                            {Dim::Dim1}),
                       only =
                           map.sublayout({Dim::Lane}, {Dim::Dim0, Dim::Dim1});
    EXPECT_FALSE(part.hasIn(Dim::Lane));
    EXPECT_EQ(part.outs().size(), 1u);
    forPlaces([&](int64_t r, int64_t l, int64_t w) {
      const auto fixed = map.at({{Dim::Register, r}, {Dim::Warp, w}});
      ASSERT_EQ(part.at({{Dim::Register, r}, {Dim::Warp, w}}),
                std::vector<int64_t>{fixed[1]});
      ASSERT_EQ(only.at({{Dim::Lane, l}}), map.at({{Dim::Lane, l}}));
    });
  }
}

TEST(Questions, OrdersOfDimsChangeNoElement) {
  Random random(22);
  for (int i = 0; i < questionRounds; ++i) {
    const LinearLayout map = random.map(questionPlaces, questionTile),
                       outs = map.reorderOuts({Dim::Dim1, Dim::Dim0});
    EXPECT_EQ(outs.reorderOuts({Dim::Dim0, Dim::Dim1}), map);
    forPlaces([&](int64_t r, int64_t l, int64_t w) {
      const Place place = {{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}};
      const auto element = map.at(place);
      ASSERT_EQ(outs.at(place), (std::vector<int64_t>{element[1], element[0]}));
    });
  }
}

TEST(Questions, PickedBitsAreThoseOfTheIndex) {
  Random random(23);
  for (int i = 0; i < questionRounds; ++i) {
    const LinearLayout map = random.map(questionPlaces, questionTile);
    const std::vector<int> keep = {2, 0};
    const LinearLayout picked = map.pickBits(Dim::Lane, keep);
    EXPECT_EQ(picked.inSize(Dim::Lane), 4);
    for (int64_t l = 0; l < 4; ++l)
      for (int64_t r = 0; r < 4; ++r)
        ASSERT_EQ(
            picked.at({{Dim::Lane, l}, {Dim::Register, r}}),
            map.at({{Dim::Lane, (l & 1) << 2 | l >> 1}, {Dim::Register, r}}));
  }
}

// thenInverse() maps an input of a to the input of b that holds the same
// element and has zeros in b's free bits.
TEST(Questions, ThenInverseFindsTheElement) {
  Random random(24);
  int tried = 0;
  for (int i = 0; i < questionRounds; ++i) {
    const LinearLayout a = random.map(questionPlaces, questionTile);
    const LinearLayout b = random.map(
        {{Dim::Register, 4}, {Dim::Lane, 3}, {Dim::Warp, 2}}, questionTile);
    if (!b.isSurjective())
      continue;
    ++tried;
    const LinearLayout way = a.thenInverse(b);
    for (Word x = 0; x < Word(1) << a.inBits(); ++x) {
      const Word there = way.apply(x);
      ASSERT_EQ(b.apply(there), a.apply(x));
      for (const Extent &in : b.ins())
        ASSERT_EQ(there >> b.inStart(in.dim) & b.freeBits(in.dim), 0u);
    }
  }
  EXPECT_GT(tried, 30);
}

// A bit is free if the inputs with only lower bits already hold its element.
TEST(Questions, FreeBitsAgainstEnumeration) {
  Random random(25);
  int free = 0;
  for (int i = 0; i < questionRounds; ++i) {
    const LinearLayout map = degenerate(random, questionPlaces, questionTile);
    for (const Extent &in : map.ins())
      for (int bit = 0; bit < in.bits; ++bit) {
        const int at = map.inStart(in.dim) + bit;
        std::set<Word> below;
        for (Word x = 0; x < Word(1) << at; ++x)
          below.insert(map.apply(x));
        const bool copies = below.count(map.apply(Word(1) << at));
        ASSERT_EQ(bool(map.freeBits(in.dim) >> bit & 1), copies) << map.str();
        free += copies;
      }
  }
  EXPECT_GT(free, questionRounds);
}

TEST(Questions, ZeroIdentityRankKernelAndKindsOfMaps) {
  Random random(26);
  int zero = 0, injective = 0, surjective = 0;
  for (int i = 0; i < 4 * questionRounds; ++i) {
    const Extents small = {{Dim::Dim0, 1 + random.below(3)},
                           {Dim::Dim1, random.below(3)}};
    const LinearLayout map = degenerate(
        random, {{Dim::Register, 1 + random.below(2)}, {Dim::Lane, 2}}, small);
    const Word inputs = Word(1) << map.inBits(), outputs = Word(1)
                                                           << map.outBits();
    std::map<Word, int> hits;
    for (Word x = 0; x < inputs; ++x)
      ++hits[map.apply(x)];
    EXPECT_EQ(size_t(1) << map.rank(), hits.size());
    EXPECT_EQ(map.isSurjective(), hits.size() == outputs);
    EXPECT_EQ(map.isInjective(), hits.size() == inputs);
    EXPECT_EQ(map.isInvertible(), inputs == outputs && hits.size() == inputs);
    // Every element in the image has as many inputs as element 0: the kernel's
    // span.
    for (const auto &[element, count] : hits)
      EXPECT_EQ(count, int(1) << map.kernel().size()) << element;
    for (Word x : map.kernel())
      EXPECT_EQ(map.apply(x), 0u);
    bool allZero = true;
    for (int64_t l = 0; l < 4; ++l)
      allZero &=
          map.flatOut({}) == 0 && map.apply(map.flatIn({{Dim::Lane, l}})) == 0;
    EXPECT_EQ(map.isZero(Dim::Lane), allZero);
    zero += allZero;
    injective += map.isInjective();
    surjective += map.isSurjective();
  }
  for (int count : {zero, injective, surjective}) {
    EXPECT_GT(count, 5);
    EXPECT_LT(count, 4 * questionRounds - 5);
  }
}

// Index i of a lane to row i and nowhere else, and nothing else to the rows.
TEST(Questions, IdentityAgainstEnumeration) {
  Random random(27);
  int yes = 0;
  for (int i = 0; i < 4 * questionRounds; ++i) {
    LinearLayout map = identity(4, Dim::Lane, Dim::Dim0) *
                       random.map({{Dim::Register, 2}}, {{Dim::Dim1, 2}});
    // Sometimes one bit is wrong.
    std::vector<Word> columns = map.columns();
    if (random.below(2))
      columns[size_t(random.below(4))] ^= Word(1) << random.below(4);
    map = LinearLayout(map.ins(), map.outs(), columns);
    bool is = true;
    for (int64_t l = 0; l < 4; ++l)
      for (int64_t r = 0; r < 4; ++r) {
        const auto with = map.at({{Dim::Lane, l}, {Dim::Register, r}}),
                   without = map.at({{Dim::Register, r}});
        is &= with[0] == l && with[1] == without[1];
      }
    EXPECT_EQ(map.isIdentity(Dim::Lane, Dim::Dim0), is) << map.str();
    yes += is;
  }
  EXPECT_GT(yes, questionRounds);
  EXPECT_LT(yes, 4 * questionRounds - 20);
}

// Registers that repeat others go, nothing else changes, no element is lost.
TEST(Questions, DroppedCopies) {
  Random random(28);
  int dropped = 0;
  for (int i = 0; i < questionRounds; ++i) {
    const LinearLayout map = degenerate(random, questionPlaces, questionTile),
                       less = dropReplication(map);
    std::set<std::vector<int64_t>> before, after;
    for (int64_t r = 0; r < map.inSize(Dim::Register); ++r)
      before.insert(map.at({{Dim::Register, r}}));
    for (int64_t r = 0; r < less.inSize(Dim::Register); ++r)
      after.insert(less.at({{Dim::Register, r}}));
    EXPECT_EQ(before, after);
    EXPECT_EQ(size_t(less.inSize(Dim::Register)), after.size());
    EXPECT_EQ(less.columns(Dim::Lane), map.columns(Dim::Lane));
    EXPECT_EQ(less.columns(Dim::Warp), map.columns(Dim::Warp));
    dropped += less.inBits() < map.inBits();
  }
  EXPECT_GT(dropped, 10);
}
