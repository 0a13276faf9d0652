// tests/unit/dialect/layout/FragmentTest.cpp - constructors against the PTX
// ISA.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The simulator has the fragment formulas of the ISA (9.7.14.5) as divisions
// and remainders of the lane; it executes instructions with them. The bases
// here must name the same elements.
#include "dialect/layout/RegisterLayouts.h"
#include "simulator/arith/Mma.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tessera::layout;
using namespace tessera::sim;

namespace {

using Coordinates = std::vector<int64_t>;

struct Instruction {
  const char *name;
  MmaShape shape;
  int bits; // of an element of A and B
};

const Instruction instructions[] = {
    {"m16n8k16.f16",
     {16, 8, 16, MmaType::F16, MmaType::F16, MmaType::F32, MmaType::F32},
     16},
    {"m16n8k16.bf16",
     {16, 8, 16, MmaType::Bf16, MmaType::Bf16, MmaType::F32, MmaType::F32},
     16},
    {"m16n8k16.f16.f16",
     {16, 8, 16, MmaType::F16, MmaType::F16, MmaType::F16, MmaType::F16},
     16},
    {"m16n8k8.tf32",
     {16, 8, 8, MmaType::Tf32, MmaType::Tf32, MmaType::F32, MmaType::F32},
     32},
    {"m16n8k32.s8",
     {16, 8, 32, MmaType::S8, MmaType::S8, MmaType::S32, MmaType::S32},
     8},
    {"m16n8k32.e4m3",
     {16, 8, 32, MmaType::E4m3, MmaType::E5m2, MmaType::F32, MmaType::F32},
     8},
    {"m8n8k4.f64",
     {8, 8, 4, MmaType::F64, MmaType::F64, MmaType::F64, MmaType::F64},
     64},
};

// All elements of a fragment: register numbers of a layout count elements,
// those of the instruction 32-bit registers.
template <class Index>
void compare(const LinearLayout &layout, int registers, int perRegister,
             Index index) {
  ASSERT_EQ(layout.inSize(Dim::Register), int64_t(registers) * perRegister);
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < registers; ++r)
      for (int part = 0; part < perRegister; ++part) {
        const MmaIndex at = index(MmaPlace{r, lane, part});
        ASSERT_EQ(layout.at({{Dim::Register, r * perRegister + part},
                             {Dim::Lane, lane}}),
                  (Coordinates{at.row, at.col}))
            << "lane " << lane << " register " << r << " part " << part;
      }
}

class Fragment : public testing::TestWithParam<Instruction> {};

} // namespace

TEST_P(Fragment, OneInstruction) {
  const Instruction &p = GetParam();
  const MmaTile tile{{1, 1}, p.shape.m};
  const int64_t k = p.shape.k, width = naturalKWidth(p.bits);
  compare(mmaAccumulator({p.shape.m, 8}, tile), mmaRegistersC(p.shape),
          mmaElementsPerRegister(p.shape.c),
          [&](MmaPlace place) { return mmaIndexC(p.shape.c, place); });
  compare(mmaOperandA({p.shape.m, k}, tile, width), mmaRegistersA(p.shape),
          mmaElementsPerRegister(p.shape.a),
          [&](MmaPlace place) { return mmaIndexA(p.shape, place); });
  compare(mmaOperandB({k, 8}, tile, width), mmaRegistersB(p.shape),
          mmaElementsPerRegister(p.shape.b),
          [&](MmaPlace place) { return mmaIndexB(p.shape, place); });
}

// Tiles of several instructions and warps: instruction i of a warp finds its
// fragment in consecutive registers.
TEST_P(Fragment, TilesOfWarps) {
  const Instruction &p = GetParam();
  const int64_t m = p.shape.m, k = p.shape.k, width = naturalKWidth(p.bits);
  for (const auto &[wm, wn] : {std::pair{4, 1}, {1, 4}, {2, 2}}) {
    const MmaTile tile{{wm, wn}, p.shape.m};
    const int64_t M = m * wm * 2, N = 8 * wn * 4, K = k * 2;
    const LinearLayout acc = mmaAccumulator({M, N}, tile),
                       a = mmaOperandA({M, K}, tile, width),
                       b = mmaOperandB({K, N}, tile, width);
    const int perC = mmaRegistersC(p.shape) * mmaElementsPerRegister(p.shape.c),
              perA = mmaRegistersA(p.shape) * mmaElementsPerRegister(p.shape.a),
              perB = mmaRegistersB(p.shape) * mmaElementsPerRegister(p.shape.b);
    for (int warp = 0; warp < wm * wn; ++warp)
      for (int lane = 0; lane < 32; ++lane) {
        const int64_t m0 = m * (warp / wn), n0 = 8 * (warp % wn);
        auto at = [&](const LinearLayout &layout, int r) {
          return layout.at(
              {{Dim::Register, r}, {Dim::Lane, lane}, {Dim::Warp, warp}});
        };
        for (int r = 0; r < 8 * perC; ++r) {
          const int in = r % perC, n = r / perC % 4, mm = r / perC / 4;
          const int per = mmaElementsPerRegister(p.shape.c);
          const MmaIndex i = mmaIndexC(p.shape.c, {in / per, lane, in % per});
          ASSERT_EQ(at(acc, r), (Coordinates{m0 + mm * m * wm + i.row,
                                             n0 + n * 8 * wn + i.col}));
        }
        for (int r = 0; r < 4 * perA; ++r) {
          const int in = r % perA, kk = r / perA % 2, mm = r / perA / 2;
          const int per = mmaElementsPerRegister(p.shape.a);
          const MmaIndex i = mmaIndexA(p.shape, {in / per, lane, in % per});
          ASSERT_EQ(at(a, r),
                    (Coordinates{m0 + mm * m * wm + i.row, kk * k + i.col}));
        }
        for (int r = 0; r < 8 * perB; ++r) {
          // The next 8 columns are before the next part of K, so that one
          // ldmatrix reads them for the same step.
          const bool wide = m == 16;
          const int in = r % perB, rest = r / perB;
          const int kk = wide ? rest / 2 % 2 : rest % 2;
          const int n = wide ? rest % 2 | rest / 4 * 2 : rest / 2;
          const int per = mmaElementsPerRegister(p.shape.b);
          const MmaIndex i = mmaIndexB(p.shape, {in / per, lane, in % per});
          ASSERT_EQ(at(b, r),
                    (Coordinates{kk * k + i.row, n0 + n * 8 * wn + i.col}));
        }
      }
    // Operands are copied over the warps of the axis that they lack.
    EXPECT_EQ(a.freeBits(Dim::Warp), Word(wn - 1));
    EXPECT_EQ(b.freeBits(Dim::Warp), Word((wm - 1) * wn));
    EXPECT_TRUE(acc.isInvertible());
  }
}

INSTANTIATE_TEST_SUITE_P(Ptx, Fragment, testing::ValuesIn(instructions),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           for (char &c : name)
                             if (c == '.')
                               c = '_';
                           return name;
                         });

// A wider kWidth renumbers K alike in A and B: the products that meet in an
// instruction are the same pairs.
TEST(FragmentWidth, WiderOperandsPairTheSameK) {
  for (int64_t width : {4, 8}) {
    const MmaTile tile{{1, 1}, 16};
    const int64_t K = 16 * width / 2 * 2;
    const LinearLayout a = mmaOperandA({16, K}, tile, width),
                       b = mmaOperandB({K, 8}, tile, width);
    EXPECT_TRUE(a.isInvertible());
    EXPECT_TRUE(b.isInvertible());
    for (int lane = 0; lane < 4; ++lane)
      for (int r = 0; r < b.inSize(Dim::Register); ++r) {
        const int within = r % width, half = r / static_cast<int>(width);
        // A has a bit of M between `within` and `half`.
        const int ra = within + static_cast<int>(width) * 2 * half;
        EXPECT_EQ(a.at({{Dim::Register, ra}, {Dim::Lane, lane}})[1],
                  b.at({{Dim::Register, r}, {Dim::Lane, lane}})[0]);
      }
  }
}

// mma.m16n8k16 emulated from layouts alone: gather operands by the layouts of A
// and B, multiply with the simulator's instruction, scatter by the accumulator.
TEST(FragmentProduct, LayoutsFeedTheInstruction) {
  const MmaTile tile{{1, 1}, 16};
  const LinearLayout a = mmaOperandA({16, 16}, tile, 2),
                     b = mmaOperandB({16, 8}, tile, 2),
                     c = mmaAccumulator({16, 8}, tile);
  // Small integers in bf16: the upper half of their f32.
  auto bf16 = [](float f) {
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits >> 16;
  };
  auto valueA = [](int64_t i, int64_t k) { return float((i * 5 + k * 3) % 7); };
  auto valueB = [](int64_t k, int64_t j) { return float((k * 2 + j * 3) % 5); };
  uint32_t ra[4][32], rb[2][32], rc[4][32] = {}, rd[4][32];
  for (int lane = 0; lane < 32; ++lane) {
    auto word = [&](const LinearLayout &layout, int r, auto value) {
      const auto x = layout.at({{Dim::Register, 2 * r}, {Dim::Lane, lane}}),
                 y = layout.at({{Dim::Register, 2 * r + 1}, {Dim::Lane, lane}});
      return bf16(value(x[0], x[1])) | bf16(value(y[0], y[1])) << 16;
    };
    for (int r = 0; r < 4; ++r)
      ra[r][lane] = word(a, r, valueA);
    for (int r = 0; r < 2; ++r)
      rb[r][lane] = word(b, r, valueB);
  }
  const uint32_t *pa[] = {ra[0], ra[1], ra[2], ra[3]}, *pb[] = {rb[0], rb[1]},
                 *pc[] = {rc[0], rc[1], rc[2], rc[3]};
  uint32_t *pd[] = {rd[0], rd[1], rd[2], rd[3]};
  mma({16, 8, 16, MmaType::Bf16, MmaType::Bf16, MmaType::F32, MmaType::F32}, pa,
      pb, pc, pd);
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < 4; ++r) {
      const auto at = c.at({{Dim::Register, r}, {Dim::Lane, lane}});
      float expected = 0, actual;
      for (int k = 0; k < 16; ++k)
        expected += valueA(at[0], k) * valueB(k, at[1]);
      std::memcpy(&actual, &rd[r][lane], 4);
      EXPECT_EQ(actual, expected) << at[0] << "," << at[1];
    }
}

// wgmma.m64nNk16: 4 warps of 16 rows, lane l and register r of a warp as the
// ISA's figure for the accumulator D: row 16 w + l / 4 + 8 (r / 2 % 2), column
// 8 (r / 4) + 2 (l % 4) + r % 2.
TEST(FragmentWgmma, Accumulator) {
  for (int64_t n : {8, 64, 256}) {
    const LinearLayout acc = wgmmaAccumulator({64, n}, {4, 1}, n);
    for (int w = 0; w < 4; ++w)
      for (int l = 0; l < 32; ++l)
        for (int r = 0; r < acc.inSize(Dim::Register); ++r)
          ASSERT_EQ(
              acc.at({{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}}),
              (Coordinates{16 * w + l / 4 + 8 * (r / 2 % 2),
                           8 * (r / 4) + 2 * (l % 4) + r % 2}));
  }
  EXPECT_THROW(wgmmaAccumulator({64, 64}, {2, 1}, 64), LayoutError);
}

// Blocked layouts by their definition: divisions and remainders.
TEST(Blocked, AgainstDivisions) {
  const Blocked how{{2, 4}, {4, 8}, {2, 2}, {1, 0}};
  const LinearLayout layout = blocked({64, 128}, how);
  EXPECT_TRUE(layout.isInvertible());
  for (int w = 0; w < 4; ++w)
    for (int l = 0; l < 32; ++l)
      for (int r = 0; r < layout.inSize(Dim::Register); ++r) {
        // One tile is 16 x 64: repeated 2 times along columns, 4 along rows.
        const int column =
                      r % 4 + 4 * (l % 8) + 32 * (w % 2) + 64 * (r / 8 % 2),
                  row = r / 4 % 2 + 2 * (l / 8) + 8 * (w / 2) + 16 * (r / 16);
        ASSERT_EQ(
            layout.at({{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}}),
            (Coordinates{row, column}));
      }
}

TEST(Blocked, TooLargeTilesMakeCopies) {
  // 8 columns for 4 x 8 x 2: lanes and warps along columns repeat.
  const LinearLayout layout = blocked({32, 8}, {{1, 4}, {4, 8}, {2, 2}, {}});
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_EQ(layout.freeBits(Dim::Lane), 0b110u);
  EXPECT_EQ(layout.freeBits(Dim::Warp), 0b01u);
  EXPECT_EQ(layout.inSize(Dim::Register), 4 * 4); // 4 columns, 4 of 8 rows
  // No duplicated registers even if perThread exceeds the tile.
  EXPECT_EQ(blocked({2}, {{8}, {32}, {1}, {}}).inSize(Dim::Register), 2);
}

TEST(Blocked, RefusesWhatDoesNotFit) {
  EXPECT_THROW(blocked({64}, {{1, 1}, {1, 32}, {1, 4}, {}}), LayoutError);
  EXPECT_THROW(blocked({64, 64}, {{1, 1}, {1, 16}, {1, 4}, {}}), LayoutError);
  EXPECT_THROW(blocked({64, 64}, {{1, 3}, {1, 32}, {1, 4}, {}}), LayoutError);
  EXPECT_THROW(blocked({64, 48}, {{1, 1}, {1, 32}, {1, 4}, {}}), LayoutError);
  EXPECT_THROW(blocked({64, 64}, {{1, 1}, {1, 32}, {1, 4}, {1, 1}}),
               LayoutError);
  EXPECT_THROW(mmaAccumulator({64}, {{4}, 16}), LayoutError);
  EXPECT_THROW(mmaAccumulator({64, 64}, {{4, 1}, 4}), LayoutError);
  EXPECT_THROW(mmaOperandA({64, 64}, {{4, 1}, 16}, 3), LayoutError);
}
