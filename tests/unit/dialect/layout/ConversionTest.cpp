// tests/unit/dialect/layout/ConversionTest.cpp - plans, executed on values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "tests/unit/dialect/layout/Machine.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

using namespace tessera::layout;

namespace {

ConversionOptions bits(int elementBits) {
  ConversionOptions options;
  options.elementBits = elementBits;
  return options;
}

} // namespace

// FA2: with all warps along M the probabilities are operand A where they are.
TEST(Conversion, ProbabilitiesStayInRegisters) {
  for (int64_t N : {16, 64, 128}) {
    const LinearLayout s = mmaAccumulator({64, N}, {{4, 1}, 16}),
                       p = mmaOperandA({64, N}, {{4, 1}, 16}, 2);
    const ConversionPlan plan = planConversion(s, p, bits(16));
    EXPECT_EQ(plan.kind, ConversionKind::None);
    EXPECT_EQ(plan.cost.slots(), 0);
    expectArrives(plan, s, p, "S -> P");
  }
  // Each warp along N holds a part of a row: the conversion crosses warps.
  for (const std::vector<int64_t> &warps :
       {std::vector<int64_t>{1, 4}, {2, 2}}) {
    const LinearLayout s = mmaAccumulator({64, 64}, {warps, 16}),
                       p = mmaOperandA({64, 64}, {warps, 16}, 2);
    const ConversionPlan plan = planConversion(s, p, bits(16));
    EXPECT_EQ(plan.kind, ConversionKind::Shared);
    EXPECT_FALSE(plan.withinWarp);
    expectArrives(plan, s, p, "S -> P");
  }
}

// Swap-AB: S^T -> P^T as operand B is one movmatrix per 8x8 block.
TEST(Conversion, SwappedProbabilitiesNeedMovmatrix) {
  const LinearLayout s = mmaAccumulator({64, 8}, {{1, 1}, 16}),
                     p = mmaOperandB({64, 8}, {{1, 1}, 16}, 2);
  const ConversionPlan plan = planConversion(s, p, bits(16));
  ASSERT_EQ(plan.kind, ConversionKind::Movmatrix);
  EXPECT_EQ(plan.movmatrix->instructions, 8);
  expectArrives(plan, s, p, "swap-AB");
  ConversionOptions options = bits(16);
  options.movmatrix = false;
  const ConversionPlan other = planConversion(s, p, options);
  EXPECT_NE(other.kind, ConversionKind::Movmatrix);
  EXPECT_TRUE(other.withinWarp);
  expectArrives(other, s, p, "swap-AB without movmatrix");
  // 32-bit elements cannot.
  EXPECT_NE(planConversion(s, p, bits(32)).kind, ConversionKind::Movmatrix);
}

TEST(Conversion, RegistersAreRenamed) {
  const LinearLayout a = blocked({32, 32}, {{4, 4}, {8, 4}, {1, 2}, {1, 0}}),
                     b = blocked({32, 32}, {{4, 4}, {8, 4}, {1, 2}, {1, 0}})
                             .pickBits(Dim::Register, {2, 3, 1, 0});
  const ConversionPlan plan = planConversion(a, b, bits(32));
  EXPECT_EQ(plan.kind, ConversionKind::Registers);
  EXPECT_EQ(plan.cost.slots(), 0);
  expectArrives(plan, a, b, "renamed");
  EXPECT_EQ(planConversion(a, a, bits(32)).kind, ConversionKind::None);
}

TEST(Conversion, OneRegisterBitAgainstOneLaneBit) {
  // (0,1) in a register and (0,2) in a lane are swapped.
  const Extents outs = {{Dim::Dim0, 3}, {Dim::Dim1, 4}};
  const std::vector<Word> lanes = {16, 32, 64, 1, 2};
  auto make = [&](Word r0, Word l0) {
    std::vector<Word> columns = {r0, 8, l0};
    for (int i = 1; i < 5; ++i)
      columns.push_back(lanes[i]);
    return LinearLayout({{Dim::Register, 2}, {Dim::Lane, 5}}, outs, columns);
  };
  const LinearLayout a = make(4, 16), b = make(16, 4);
  const ConversionPlan plan = planConversion(a, b, bits(32));
  ASSERT_EQ(plan.kind, ConversionKind::Shuffle);
  EXPECT_EQ(plan.shuffle->steps, 4);
  EXPECT_EQ(plan.cost.shuffles, 2); // R/2
  EXPECT_EQ(plan.cost.selects, 6);  // 1.5 R
  expectArrives(plan, a, b, "transposition");
  // 16-bit elements go two at a time.
  const ConversionPlan half = planConversion(a, b, bits(16));
  ASSERT_EQ(half.kind, ConversionKind::Shuffle);
  EXPECT_EQ(half.shuffle->packedBits, (std::vector<int>{1}));
  EXPECT_EQ(half.cost.shuffles, 1);
}

TEST(Conversion, LanePermutationIsOneShufflePerRegister) {
  Random random(40);
  for (int i = 0; i < 30; ++i) {
    const Extents outs = {{Dim::Dim0, 7}};
    std::vector<Word> a = random.invertible(7), b = a;
    const std::vector<Word> lanes = random.invertible(5);
    for (int j = 0; j < 5; ++j)
      b[2 + j] = multiply({a.begin() + 2, a.end()}, lanes[j]);
    const Extents ins = {{Dim::Register, 2}, {Dim::Lane, 5}};
    const LinearLayout src(ins, outs, a), dst(ins, outs, b);
    const ConversionPlan plan = planConversion(src, dst, bits(32));
    if (src == dst)
      continue;
    ASSERT_EQ(plan.kind, ConversionKind::Shuffle);
    EXPECT_EQ(plan.cost.shuffles, 4);
    EXPECT_EQ(plan.cost.selects, 0);
    expectArrives(plan, src, dst, "lanes");
  }
}

// Packed steps must move neighbours alike.
TEST(Conversion, PackedRegistersMoveTogether) {
  Random random(41);
  int packed = 0;
  for (int i = 0; i < 300; ++i) {
    const Extents outs = {{Dim::Dim0, 3}, {Dim::Dim1, 5}};
    const LinearLayout src = random.distributed(outs, 0, 0, true),
                       dst = random.distributed(outs, 0, 0, true);
    ConversionOptions options = bits(16);
    options.movmatrix = false;
    const ConversionPlan plan = planConversion(src, dst, options);
    expectArrives(plan, src, dst, "packed");
    if (!plan.shuffle)
      continue;
    for (int bit : plan.shuffle->packedBits) {
      ++packed;
      const ShufflePlan &s = *plan.shuffle;
      std::set<Word> sent;
      for (int step = 0; step < s.steps; ++step)
        for (int l = 0; l < 32; ++l) {
          const Word x = Word(step) | Word(l) << s.send.inBits(Dim::Register),
                     y = x ^ Word(1) << bit;
          EXPECT_EQ(s.source.apply(x), s.source.apply(y));
          EXPECT_EQ(s.receive.apply(x) ^ s.receive.apply(y), Word(1) << bit);
          sent.insert(s.send.apply(x) ^ s.send.apply(y));
        }
      EXPECT_EQ(sent.size(), 1u);
    }
  }
  EXPECT_GT(packed, 20);
}

namespace {

struct Count {
  std::map<ConversionKind, int> kinds;
};

// Random pairs of layouts of one tile; every plan is executed.
void tryPairs(unsigned seed, int pairs, int warps, bool permuted, int copies,
              const ConversionOptions &options, Count &count) {
  Random random(seed);
  const Extents outs = {{Dim::Dim0, 4}, {Dim::Dim1, 5}};
  for (int i = 0; i < pairs; ++i) {
    const LinearLayout src = random.distributed(
                           outs, warps, random.below(copies + 1), permuted),
                       dst = random.distributed(
                           outs, warps, random.below(copies + 1), permuted);
    const ConversionPlan plan = planConversion(src, dst, options);
    expectArrives(plan, src, dst, "seed " + std::to_string(seed));
    ++count.kinds[plan.kind];
    if (plan.shared) {
      EXPECT_EQ(countWays(plan.shared->store, 1 << warps), 1);
      EXPECT_EQ(countWays(plan.shared->load, 1 << warps), 1);
    }
  }
}

} // namespace

TEST(Conversion, EveryElementArrives) {
  Count count;
  unsigned seed = 100;
  for (int warps : {0, 1, 2})
    for (bool permuted : {true, false})
      for (int copies : {0, 1, 2})
        for (int width : {8, 16, 32, 64})
          tryPairs(seed++, 12, warps, permuted, copies, bits(width), count);
  EXPECT_GT(count.kinds[ConversionKind::Shuffle], 20);
  EXPECT_GT(count.kinds[ConversionKind::Shared], 200);
}

TEST(Conversion, EveryElementArrivesByShuffles) {
  // Cheap or not: where the plan may not use iterations of shared memory it
  // still has to be right. Within a warp every pair of layouts without copies
  // has one.
  Random random(42);
  const Extents outs = {{Dim::Dim0, 3}, {Dim::Dim1, 5}};
  int shuffles = 0;
  for (int i = 0; i < 200; ++i) {
    const LinearLayout src = random.distributed(outs, 0, 0, i % 2),
                       dst = random.distributed(outs, 0, 0, i % 2);
    ConversionOptions options = bits(32);
    options.maxScratchBytes = 0;
    const ConversionPlan plan = planConversion(src, dst, options);
    expectArrives(plan, src, dst, "within a warp");
    shuffles += plan.kind == ConversionKind::Shuffle;
  }
  EXPECT_GT(shuffles, 150);
}

TEST(Conversion, CopiesInRegistersAreFilled) {
  // The result wants every value twice in a lane, and the source has copies
  // too.
  const LinearLayout once = blocked({32, 32}, {{1, 4}, {4, 8}, {2, 1}, {}});
  const LinearLayout twice = once * zeros(2, Dim::Register, Dim::Dim0);
  for (const auto &[src, dst] :
       {std::pair{once, twice}, {twice, once}, {twice, twice}}) {
    const ConversionPlan plan = planConversion(src, dst, bits(32));
    EXPECT_LE(int(plan.kind), int(ConversionKind::Registers));
    expectArrives(plan, src, dst, "copies");
  }
  const LinearLayout other =
      blocked({32, 32}, {{4, 1}, {8, 4}, {1, 2}, {0, 1}});
  for (const LinearLayout &dst :
       {other * zeros(2, Dim::Register, Dim::Dim0), other}) {
    expectArrives(planConversion(twice, dst, bits(16)), twice, dst, "copies");
    expectArrives(planConversion(dst, twice, bits(16)), dst, twice, "copies");
  }
}

TEST(Conversion, IterationsDeliverEverything) {
  const LinearLayout src = mmaAccumulator({64, 64}, {{4, 1}, 16}),
                     dst = blocked({64, 64}, {{1, 4}, {2, 16}, {4, 1}, {}});
  for (int64_t limit : {16384, 8192, 4096}) {
    ConversionOptions options = bits(32);
    options.maxScratchBytes = limit;
    options.shuffles = false;
    const ConversionPlan plan = planConversion(src, dst, options);
    ASSERT_EQ(plan.kind, ConversionKind::Shared);
    EXPECT_LE(plan.cost.scratchBytes, limit);
    EXPECT_EQ(plan.shared->iterationCount(), 16384 / limit);
    expectArrives(plan, src, dst, std::to_string(limit));
  }
}

// A register bit that both sides hold makes iterations only if an iteration
// stores what it loads: the rest of both layouts must span the same elements.
TEST(Conversion, IterationsOfLayoutsThatMixElements) {
  Random random(43);
  const Extents ins = {{Dim::Register, 3}, {Dim::Lane, 5}, {Dim::Warp, 1}},
                outs = {{Dim::Dim0, 4}, {Dim::Dim1, 5}};
  int several = 0, single = 0;
  for (int i = 0; i < 60; ++i) {
    const std::vector<Word> a = random.invertible(9);
    std::vector<Word> b = a;
    const std::vector<Word> rest(a.begin() + 2, a.end());
    do {
      // Mixed among themselves, or with the common registers as well.
      const auto mixed = i % 2 ? random.invertible(7) : random.columns(7, 9);
      for (int j = 0; j < 7; ++j)
        b[2 + j] = i % 2 ? multiply(rest, mixed[j]) : mixed[j];
    } while (rankOf(b) != 9);
    const LinearLayout src(ins, outs, a), dst(ins, outs, b);
    ConversionOptions options = bits(32);
    options.maxScratchBytes = 512; // a quarter of the tile
    options.shuffles = false;
    const ConversionPlan plan = planConversion(src, dst, options);
    ASSERT_EQ(plan.kind, ConversionKind::Shared);
    (plan.shared->iterationCount() > 1 ? several : single) += 1;
    expectArrives(plan, src, dst, "mixed");
  }
  EXPECT_GE(several, 30);
  EXPECT_GE(single, 20);
}

// Every warp has all elements and wants half of them: no warp asks another.
TEST(Conversion, CopiesOverWarpsStayWithinTheWarp) {
  const LinearLayout src =
      identity(32, Dim::Lane, Dim::Dim0) * zeros(2, Dim::Warp, Dim::Dim0);
  const LinearLayout dst(
      {{Dim::Lane, {{2}, {4}, {8}, {16}, {0}}}, {Dim::Warp, {{1}}}},
      {{Dim::Dim0, 32}});
  const ConversionPlan plan = planConversion(src, dst, bits(32));
  EXPECT_TRUE(plan.withinWarp);
  EXPECT_EQ(plan.kind, ConversionKind::Shuffle);
  EXPECT_EQ(plan.cost.shuffles, 1);
  expectArrives(plan, src, dst, "copies over warps");
}

// Reductions: the result of a row sum as a blocked row of values and back.
TEST(Conversion, SlicedLayouts) {
  const LinearLayout rows = slice(mmaAccumulator({64, 64}, {{4, 1}, 16}), 1);
  const LinearLayout vector = blocked({64}, {{1}, {32}, {4}, {}});
  for (int width : {16, 32}) {
    const ConversionPlan out = planConversion(rows, vector, bits(width));
    expectArrives(out, rows, vector, "rows -> vector");
    const ConversionPlan in = planConversion(vector, rows, bits(width));
    expectArrives(in, vector, rows, "vector -> rows");
  }
}

TEST(Conversion, RefusesWhatCannotBe) {
  const LinearLayout a = mmaAccumulator({64, 64}, {{4, 1}, 16});
  EXPECT_THROW(planConversion(a, mmaAccumulator({64, 32}, {{4, 1}, 16})),
               LayoutError);
  EXPECT_THROW(planConversion(a, mmaAccumulator({64, 64}, {{2, 1}, 16})),
               LayoutError);
  EXPECT_THROW(planConversion(a, a.pickBits(Dim::Register, {0})), LayoutError);
  EXPECT_THROW(planConversion(identity(4, Dim::Offset, Dim::Dim0),
                              identity(4, Dim::Offset, Dim::Dim0)),
               LayoutError);
}
