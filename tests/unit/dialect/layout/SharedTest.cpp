// tests/unit/dialect/layout/SharedTest.cpp - shared layouts and banks, by hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedLayouts.h"
#include "tests/unit/dialect/layout/Machine.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

using namespace tessera::layout;

namespace {

// Offset of an element, by searching for it.
std::map<std::vector<int64_t>, int64_t> offsets(const LinearLayout &shared) {
  std::map<std::vector<int64_t>, int64_t> result;
  for (int64_t o = 0; o < shared.inSize(Dim::Offset); ++o)
    result[shared.at({{Dim::Offset, o}})] = o;
  return result;
}

void expectFree(const SharedTrip &trip, int warps, const std::string &what) {
  EXPECT_EQ(trip.store.ways, 1) << what;
  EXPECT_EQ(trip.load.ways, 1) << what;
  EXPECT_EQ(countWays(trip.store, warps), 1) << what;
  EXPECT_EQ(countWays(trip.load, warps), 1) << what;
}

} // namespace

TEST(SharedLayouts, SwizzleAgainstItsFormula) {
  for (const Swizzle s : {Swizzle{8, 1, 8}, {8, 2, 4}, {4, 1, 4}, {1, 4, 8}})
    for (const bool rows : {true, false}) {
      const int64_t R = 32, C = 64;
      const LinearLayout shared =
          rows ? swizzledShared({R, C}, s) : swizzledShared({C, R}, s, {0, 1});
      const auto at = offsets(shared);
      ASSERT_EQ(int64_t(at.size()), R * C);
      for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) {
          const int64_t expected =
              r * C + (c ^ (s.vec * (r / s.perPhase % s.maxPhase)));
          ASSERT_EQ(at.at(rows ? std::vector{r, c} : std::vector{c, r}),
                    expected);
        }
    }
}

TEST(SharedLayouts, OperandSwizzleForHeadDims) {
  EXPECT_EQ(operandSwizzle(32, 16), (Swizzle{8, 2, 4}));
  EXPECT_EQ(operandSwizzle(64, 16), (Swizzle{8, 1, 8}));
  EXPECT_EQ(operandSwizzle(128, 16), (Swizzle{8, 1, 8}));
  EXPECT_EQ(operandSwizzle(256, 16), (Swizzle{8, 1, 8}));
  // 16 columns: 4 rows in 128 bytes, two vectors per row to permute.
  EXPECT_EQ(operandSwizzle(16, 16), (Swizzle{8, 4, 2}));
}

// Cores: the TMA swizzle XORs bits 4..6 of the byte address with bits 7..9 (128
// bytes), bits 4..5 with 7..8 (64), bit 4 with 7 (32); CUDA C++ guide, "tensor
// memory access", swizzle modes.
TEST(SharedLayouts, CoresAgainstAddressBits) {
  for (int bytes : {32, 64, 128})
    for (int bits : {8, 16, 32}) {
      const int64_t width = bytes * 8 / bits, R = 32, C = 2 * width;
      const auto at = offsets(coreShared({R, C}, bytes, bits));
      const int64_t mask = bytes / 16 - 1;
      for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) {
          // Rows of a stack follow each other, stacks lie side by side.
          int64_t address = (c / width * R + r) * bytes + c % width * bits / 8;
          address ^= (address >> 7 & mask) << 4;
          ASSERT_EQ(at.at({r, c}) * bits / 8, address)
              << bytes << " " << bits << " " << r << " " << c;
        }
    }
  EXPECT_THROW(coreShared({32, 32}, 48, 16), LayoutError);
  EXPECT_THROW(coreShared({4, 64}, 128, 16), LayoutError);
}

// bankConflictWays counts by rank; the truth is a list of words.
TEST(SharedAccess, WaysAgainstEnumeration) {
  Random random(30);
  for (int i = 0; i < 500; ++i) {
    const int bits = 8 << random.below(4);
    const auto elements = random.columns(random.below(6), 10);
    std::map<Word, std::set<Word>> banks;
    for (Word x = 0; x < Word(1) << elements.size(); ++x)
      for (int byte = 0; byte < bits / 8; ++byte) {
        const Word address = multiply(elements, x) * bits / 8 + byte;
        banks[address / 4 % 32].insert(address / 128);
      }
    size_t worst = 0;
    for (const auto &[bank, rows] : banks)
      worst = std::max(worst, rows.size());
    EXPECT_EQ(bankConflictWays(elements, bits), int(worst));
  }
}

// Head dims of attention: what swizzling is worth, counted by hand.
TEST(SharedAccess, LdmatrixOfOperandTiles) {
  for (int64_t D : {16, 32, 64, 128, 256}) {
    const std::vector<int64_t> shape = {64, D};
    const LinearLayout swizzled = swizzledShared(shape, operandSwizzle(D, 16)),
                       plain = rowMajorShared(shape);
    const MmaTile tile{{4, 1}, 16};
    const LinearLayout q = mmaOperandA(shape, tile, 2);
    // K^T of QK^T: the tile is [keys, D], read as B of shape [D, keys].
    const LinearLayout k = transpose(mmaOperandB({D, 64}, tile, 2), {1, 0});
    // V: B of PV, k runs along keys: the transposed read.
    const LinearLayout v = mmaOperandB(shape, tile, 2);
    const int64_t perRow = std::min<int64_t>(D / 8, 32);
    const LinearLayout stores =
        blocked(shape, {{1, 8}, {32 / perRow, perRow}, {4, 1}, {}});
    for (const auto *layout : {&q, &k, &v}) {
      const bool trans = layout == &v;
      for (const auto *shared : {&swizzled, &plain}) {
        const auto access = ldmatrixAccess(*layout, *shared, 16, trans);
        ASSERT_TRUE(access.has_value());
        EXPECT_EQ(access->matrices, 4);
        EXPECT_FALSE(ldmatrixAccess(*layout, *shared, 16, !trans).has_value());
        EXPECT_EQ(access->ways, countWays(*access, 4));
        EXPECT_EQ(access->ways,
                  shared == &swizzled ? 1 : std::min<int64_t>(D / 8, 8));
        // And it brings the right elements.
        std::vector<int64_t> memory(shared->inSize(Dim::Offset));
        for (int64_t o = 0; o < int64_t(memory.size()); ++o)
          memory[o] = static_cast<int64_t>(shared->apply(Word(o)));
        Machine machine(*layout);
        load(*access, memory, 0, machine);
        EXPECT_EQ(machine.values, filled(*layout).values);
      }
    }
    const SharedAccess store16 = vectorAccess(stores, swizzled, 16);
    EXPECT_EQ(store16.bytesPerLane(), 16);
    EXPECT_EQ(store16.ways, 1);
    EXPECT_EQ(countWays(store16, 4), 1);
  }
}

// Two phases of at most 128 bytes: a common complement always exists.
TEST(SharedSearch, SegmentAvoidsBothPhases) {
  Random random(31);
  for (int i = 0; i < 1000; ++i) {
    const int n = 6 + random.below(6), phase = 3 + random.below(4);
    std::vector<Word> space;
    for (int bit = 0; bit < n; ++bit)
      space.push_back(Word(1) << bit);
    // p and q share their first vectors (what a word is made of).
    const auto low = Span(random.columns(random.below(3), n)).basis();
    auto p = random.columns(phase - int(low.size()), n), q = p;
    for (Word &v : q)
      v = random.word(n);
    p.insert(p.end(), low.begin(), low.end());
    q.insert(q.end(), low.begin(), low.end());
    const auto bases = findOffsetBases(space, low, p, q, phase);
    ASSERT_EQ(rankOf(bases), n);
    ASSERT_EQ(int(bases.size()), n);
    ASSERT_TRUE(std::equal(low.begin(), low.end(), bases.begin()));
    const std::vector<Word> segment(bases.begin() + std::min(phase, n),
                                    bases.end());
    EXPECT_TRUE(intersection(segment, p).empty());
    EXPECT_TRUE(intersection(segment, q).empty());
  }
}

TEST(SharedSearch, NoConflictsForTilesOfKernels) {
  struct Case {
    const char *name;
    LinearLayout src, dst;
    int bits;
    int stored, loaded; // bytes per lane and instruction
  };
  auto acc = [](std::vector<int64_t> shape, int64_t wm, int64_t wn) {
    return mmaAccumulator(shape, {{wm, wn}, 16});
  };
  // Neighbours of a row that both sides hold make a vector. (0,1) and (8,0) of
  // an accumulator, 16 bytes, would come back as registers that the row's own
  // store does not want side by side. A transpose of rows has no such
  // registers, and the wider the load the fewer lanes may store at once.
  const Case cases[] = {
      {"acc f32 64x64 -> rows", acc({64, 64}, 4, 1),
       blocked({64, 64}, {{1, 4}, {2, 16}, {4, 1}, {}}), 32, 8, 16},
      {"acc f32 128x128 -> rows", acc({128, 128}, 4, 1),
       blocked({128, 128}, {{1, 4}, {1, 32}, {4, 1}, {}}), 32, 8, 16},
      {"acc bf16 64x64 -> rows", acc({64, 64}, 4, 1),
       blocked({64, 64}, {{1, 8}, {4, 8}, {4, 1}, {}}), 16, 16, 16},
      {"transpose f32 64x64", blocked({64, 64}, {{1, 4}, {2, 16}, {4, 1}, {}}),
       blocked({64, 64}, {{4, 1}, {16, 2}, {1, 4}, {0, 1}}), 32, 4, 8},
      {"transpose s8 128x128",
       blocked({128, 128}, {{1, 16}, {4, 8}, {4, 1}, {}}),
       blocked({128, 128}, {{16, 1}, {8, 4}, {1, 4}, {0, 1}}), 8, 0, 0},
      {"transpose f64 32x32", blocked({32, 32}, {{1, 2}, {2, 16}, {4, 1}, {}}),
       blocked({32, 32}, {{2, 1}, {16, 2}, {1, 4}, {0, 1}}), 64, 0, 0},
      {"P over 4 warps bf16 16x64 -> A", acc({16, 64}, 1, 4),
       mmaOperandA({16, 64}, {{1, 4}, 16}, 2), 16, 4, 16},
  };
  for (const Case &c : cases) {
    SearchOptions options;
    options.elementBits = c.bits;
    const SharedTrip trip = findSharedTrip(c.src, c.dst, options);
    expectFree(trip, 4, c.name);
    EXPECT_EQ(trip.bytes(), (int64_t(c.bits) << c.src.outBits()) / 8);
    if (!c.stored)
      continue;
    EXPECT_EQ(trip.store.bytesPerLane(), c.stored) << c.name;
    EXPECT_EQ(trip.load.bytesPerLane(), c.loaded) << c.name;
    // The same tiles without swizzle do conflict: the counter can see it.
    const LinearLayout plain = rowMajorShared(shapeOf(c.src));
    const int worse =
        std::max(countWays(vectorAccess(c.src, plain, c.bits), 4),
                 countWays(vectorAccess(c.dst, plain, c.bits), 4));
    EXPECT_GE(worse, 2) << c.name;
  }
}

// Each lane computes four elements of a row, which are then used as A. Vectors
// of the registers that both sides hold bring one word of each of four
// fragments, but an mma needs a fragment's registers next to each other.
// ldmatrix brings complete fragments.
TEST(SharedSearch, LoadsComeInTheOrderOfTheFragments) {
  const LinearLayout rows = blocked({64, 32}, {{1, 4}, {4, 8}, {2, 1}, {}}),
                     operand = mmaOperandA({64, 32}, {{2, 1}, 16}, 2);
  SearchOptions options;
  options.elementBits = 16;
  const SharedTrip trip = findSharedTrip(rows, operand, options);
  expectFree(trip, 2, "A");
  EXPECT_EQ(trip.load.kind, AccessKind::Ldmatrix);
  EXPECT_EQ(trip.load.moves(), 0);
  // The vectors that it is measured against: as many passes, fewer accesses,
  // and every register moved.
  options.ldmatrix = false;
  const SharedTrip vectors = findSharedTrip(rows, operand, options);
  EXPECT_EQ(vectors.wavefronts(), trip.wavefronts());

  // Bits 0 and 1 of 32-bit registers are neighbours; 0 and 2 are not.
  const LinearLayout two = blocked({4, 64}, {{4, 1}, {1, 32}, {1, 1}, {}});
  const LinearLayout near = swizzledShared({4, 64}, {}, {0, 1});
  EXPECT_EQ(vectorAccess(two, near, 32).bytesPerLane(), 16);
  EXPECT_EQ(vectorAccess(two, near, 32).moves(), 0);
  const LinearLayout far({{Dim::Offset, 8}}, {{Dim::Dim0, 2}, {Dim::Dim1, 6}},
                         {1, 128, 2, 4, 8, 16, 32, 64});
  EXPECT_EQ(vectorAccess(two, far, 32).vectorBits, (std::vector<int>{0, 2}));
  EXPECT_EQ(vectorAccess(two, far, 32).moves(), 8);
  EXPECT_EQ(vectorAccess(two, far, 32, 4).moves(), 0);
}

// Global memory -> shared memory -> operand: 16-byte stores (cp.async) and
// ldmatrix are found by the search itself.
TEST(SharedSearch, StagingFindsLdmatrix) {
  const MmaTile tile{{4, 1}, 16};
  for (int64_t D : {32, 64, 128}) {
    const LinearLayout rows =
        blocked({64, D}, {{1, 8}, {256 / D, D / 8}, {4, 1}, {}});
    SearchOptions options;
    options.elementBits = 16;
    options.storedBits = 3;
    const SharedTrip a =
        findSharedTrip(rows, mmaOperandA({64, D}, tile, 2), options);
    EXPECT_EQ(a.load.kind, AccessKind::Ldmatrix);
    EXPECT_EQ(a.store.bytesPerLane(), 16);
    expectFree(a, 4, "A");
    const SharedTrip v =
        findSharedTrip(rows, mmaOperandB({64, D}, tile, 2), options);
    EXPECT_EQ(v.load.kind, AccessKind::LdmatrixTrans);
    EXPECT_EQ(v.store.bytesPerLane(), 16);
    expectFree(v, 4, "V");
    options.ldmatrix = false;
    const SharedTrip plain =
        findSharedTrip(rows, mmaOperandA({64, D}, tile, 2), options);
    EXPECT_EQ(plain.load.kind, AccessKind::Vector);
    EXPECT_GT(plain.instructions(), a.instructions());
  }
}

// Both phases hold elements of the load's vector: sums of two of these are no
// directions for the segment.
TEST(SharedSearch, SingleElementsStoredAndVectorsLoaded) {
  const LinearLayout rows = blocked({64, 32}, {{1, 1}, {1, 32}, {4, 1}, {}});
  const LinearLayout operand = mmaOperandA({64, 32}, {{2, 2}}, 1);
  for (int stored : {0, -1}) {
    SearchOptions options;
    options.storedBits = stored;
    expectFree(findSharedTrip(rows, operand, options), 4, "tf32 operand");
  }
}

TEST(SharedSearch, NoConflictsForRandomLayouts) {
  Random random(32);
  const Extents tile = {{Dim::Dim0, 5}, {Dim::Dim1, 6}};
  for (int i = 0; i < 150; ++i) {
    const int copies = random.below(3);
    const LinearLayout src = random.distributed(tile, 2, copies, i % 2),
                       dst = random.distributed(tile, 2, 0, i % 2);
    SearchOptions options;
    options.elementBits = 8 << random.below(4);
    expectFree(findSharedTrip(src, dst, options), 4, src.str() + dst.str());
  }
}

TEST(SharedSearch, IterationsHalveTheScratch) {
  const LinearLayout src = mmaAccumulator({128, 128}, {{4, 1}, 16}),
                     dst = blocked({128, 128}, {{1, 4}, {1, 32}, {4, 1}, {}});
  SearchOptions options;
  for (int64_t limit : {65536, 32768, 16384}) {
    options.maxBytes = limit;
    const SharedTrip trip = findSharedTrip(src, dst, options);
    EXPECT_LE(trip.bytes(), limit);
    EXPECT_EQ(trip.bytes() * trip.iterationCount(), 65536);
    expectFree(trip, 4, std::to_string(limit));
  }
  // Less than the registers in common allow: as little as can be.
  options.maxBytes = 1;
  EXPECT_GT(findSharedTrip(src, dst, options).bytes(), 1);
}

TEST(SharedSearch, RefusesWhatCannotBe) {
  SearchOptions options;
  const LinearLayout a = mmaAccumulator({64, 64}, {{4, 1}, 16});
  EXPECT_THROW(
      findSharedTrip(a, mmaAccumulator({64, 32}, {{4, 1}, 16}), options),
      LayoutError);
  options.elementBits = 4;
  EXPECT_THROW(findSharedTrip(a, a, options), LayoutError);
  options.elementBits = 32;
  EXPECT_THROW(findSharedTrip(a.pickBits(Dim::Lane, {0, 1}), a, options),
               LayoutError);
}
