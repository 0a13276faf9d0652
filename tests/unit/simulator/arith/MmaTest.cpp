// tests/unit/simulator/arith/MmaTest.cpp - fragments by the ISA's formulas;
// products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Mma.h"

#include "simulator/arith/Convert.h"
#include "tests/unit/simulator/arith/Second.h"

#include <gtest/gtest.h>
#include <set>

using namespace tessera::sim;
using second::Bits;

namespace {

// What the ISA prints below each fragment picture, per element i of a lane's
// vector (not per register): row and column as functions of the lane.
MmaIndex isaA(int m, int k, int width, int i, int lane) {
  int group = lane >> 2, inGroup = lane % 4;
  if (width == 64) // m8n8k4
    return {group, inGroup};
  if (width == 32 && k == 4)
    return {i == 0 ? group : group + 8, inGroup};
  if (width == 32)
    return {i == 0 || i == 2 ? group : group + 8,
            i < 2 ? inGroup : inGroup + 4};
  if (width == 16 && k == 8)
    return {i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
  if (width == 16)
    return {(0 <= i && i < 2) || (4 <= i && i < 6) ? group : group + 8,
            i < 4 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8};
  if (m == 8)
    return {group, inGroup * 4 + i};
  if (k == 16)
    return {i < 4 ? group : group + 8, inGroup * 4 + (i & 3)};
  return {(0 <= i && i < 4) || (8 <= i && i < 12) ? group : group + 8,
          i < 8 ? inGroup * 4 + (i & 3) : inGroup * 4 + (i & 3) + 16};
}

MmaIndex isaB(int k, int width, int i, int lane) {
  int group = lane >> 2, inGroup = lane % 4;
  if (width == 64)
    return {inGroup, group};
  if (width == 32)
    return {i == 0 ? inGroup : inGroup + 4, group};
  if (width == 16)
    return {i < 2 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8, group};
  return {i < 4 ? inGroup * 4 + (i & 3) : inGroup * 4 + (i & 3) + 16, group};
}

MmaIndex isaC(int i, int lane) {
  int group = lane >> 2, inGroup = lane % 4;
  return {i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
}

int widthOf(MmaType t) {
  return t == MmaType::F64 ? 64 : 32 / mmaElementsPerRegister(t);
}

const MmaShape Shapes[] = {
    {16, 8, 16, MmaType::F16, MmaType::F16, MmaType::F32, MmaType::F32},
    {16, 8, 8, MmaType::F16, MmaType::F16, MmaType::F32, MmaType::F32},
    {16, 8, 16, MmaType::F16, MmaType::F16, MmaType::F16, MmaType::F16},
    {16, 8, 16, MmaType::Bf16, MmaType::Bf16, MmaType::F32, MmaType::F32},
    {16, 8, 8, MmaType::Bf16, MmaType::Bf16, MmaType::F32, MmaType::F32},
    {16, 8, 4, MmaType::Tf32, MmaType::Tf32, MmaType::F32, MmaType::F32},
    {16, 8, 8, MmaType::Tf32, MmaType::Tf32, MmaType::F32, MmaType::F32},
    {8, 8, 16, MmaType::S8, MmaType::U8, MmaType::S32, MmaType::S32},
    {16, 8, 16, MmaType::U8, MmaType::S8, MmaType::S32, MmaType::S32},
    {16, 8, 32, MmaType::S8, MmaType::S8, MmaType::S32, MmaType::S32},
    {16, 8, 32, MmaType::E4m3, MmaType::E5m2, MmaType::F32, MmaType::F32},
    {8, 8, 4, MmaType::F64, MmaType::F64, MmaType::F64, MmaType::F64},
};

TEST(SimMma, FragmentsAreTheIsas) {
  for (const MmaShape &s : Shapes) {
    EXPECT_EQ(mmaProblem(s), "");
    int width = widthOf(s.a), parts = mmaElementsPerRegister(s.a);
    std::set<std::pair<int, int>> seenA, seenB, seenC;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < mmaRegistersA(s) * parts; ++i) {
        MmaIndex got = mmaIndexA(s, {i / parts, lane, i % parts});
        MmaIndex want = isaA(s.m, s.k, width, i, lane);
        ASSERT_EQ(got.row, want.row) << s.k << " " << width << " " << i;
        ASSERT_EQ(got.col, want.col) << s.k << " " << width << " " << i;
        seenA.insert({got.row, got.col});
      }
      for (int i = 0; i < mmaRegistersB(s) * parts; ++i) {
        MmaIndex got = mmaIndexB(s, {i / parts, lane, i % parts});
        MmaIndex want = isaB(s.k, width, i, lane);
        ASSERT_EQ(got.row, want.row) << s.k << " " << width << " " << i;
        ASSERT_EQ(got.col, want.col) << s.k << " " << width << " " << i;
        seenB.insert({got.row, got.col});
      }
      int partsC = s.c == MmaType::F16 ? 2 : 1;
      for (int i = 0; i < s.m * s.n / 32; ++i) {
        MmaIndex got = mmaIndexC(s.c, {i / partsC, lane, i % partsC});
        MmaIndex want = isaC(i, lane);
        ASSERT_EQ(got.row, want.row);
        ASSERT_EQ(got.col, want.col);
        seenC.insert({got.row, got.col});
      }
    }
    // Exactly one register and lane holds each element.
    EXPECT_EQ(seenA.size(), size_t(s.m * s.k));
    EXPECT_EQ(seenB.size(), size_t(s.k * s.n));
    EXPECT_EQ(seenC.size(), size_t(s.m * s.n));
  }
}

TEST(SimMma, RefusesWhatTheIsaLacks) {
  EXPECT_NE(mmaProblem({16, 8, 32, MmaType::F16, MmaType::F16, MmaType::F32,
                        MmaType::F32}),
            "");
  EXPECT_NE(mmaProblem({16, 8, 16, MmaType::Bf16, MmaType::F16, MmaType::F32,
                        MmaType::F32}),
            "");
  EXPECT_NE(mmaProblem({16, 8, 8, MmaType::Bf16, MmaType::Bf16, MmaType::F16,
                        MmaType::F16}),
            "");
}

double elementOf(MmaType type, uint32_t reg, int part) {
  switch (type) {
  case MmaType::F16:
    return f16ToFloat(static_cast<uint16_t>(reg >> 16 * part));
  case MmaType::Bf16:
    return bf16ToFloat(static_cast<uint16_t>(reg >> 16 * part));
  case MmaType::Tf32:
    return asFloat(reg & 0xffffe000);
  case MmaType::S8:
    return static_cast<int8_t>(reg >> 8 * part);
  case MmaType::U8:
    return static_cast<uint8_t>(reg >> 8 * part);
  case MmaType::S32:
    return static_cast<int32_t>(reg);
  case MmaType::E4m3:
    return float8ToFloat(Float8::E4m3, static_cast<uint8_t>(reg >> 8 * part));
  case MmaType::E5m2:
    return float8ToFloat(Float8::E5m2, static_cast<uint8_t>(reg >> 8 * part));
  default:
    return asFloat(reg);
  }
}

struct Warp {
  uint32_t a[4][32], b[2][32], c[4][32], d[4][32];
  const uint32_t *pa[4], *pb[2], *pc[4];
  uint32_t *pd[4];
  Warp() {
    for (int i = 0; i < 4; ++i) {
      pa[i] = a[i];
      pc[i] = c[i];
      pd[i] = d[i];
    }
    pb[0] = b[0];
    pb[1] = b[1];
  }
};

uint32_t randomRegister(Bits &bits, MmaType type) {
  auto unit = [&] {
    return static_cast<float>(bits.below(1u << 20)) / (1 << 19) - 1;
  };
  switch (type) {
  case MmaType::F16:
    return floatToF16(unit()) | uint32_t{floatToF16(unit())} << 16;
  case MmaType::Bf16:
    return floatToBf16(unit()) | uint32_t{floatToBf16(unit())} << 16;
  case MmaType::E4m3:
  case MmaType::E5m2:
    return static_cast<uint32_t>(bits.any()) & 0x3b3b3b3b;
  case MmaType::S8:
  case MmaType::U8:
    return static_cast<uint32_t>(bits.any());
  case MmaType::S32:
    return bits.below(1000);
  default:
    return bitsOf(unit());
  }
}

// The product of the matrices, in double, with the fragment layout of the ISA.
TEST(SimMma, ProductsAgreeWithMatrices) {
  Bits bits(83);
  for (const MmaShape &s : Shapes) {
    if (s.a == MmaType::F64)
      continue;
    for (int round = 0; round < 20; ++round) {
      Warp w;
      for (int lane = 0; lane < 32; ++lane) {
        for (int r = 0; r < 4; ++r) {
          w.a[r][lane] = randomRegister(bits, s.a);
          w.c[r][lane] = randomRegister(bits, s.c);
        }
        for (auto &reg : w.b)
          reg[lane] = randomRegister(bits, s.b);
      }
      double a[16][32] = {}, b[32][8] = {};
      int width = widthOf(s.a), parts = mmaElementsPerRegister(s.a);
      for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < s.m * s.k / 32; ++i) {
          MmaIndex at = isaA(s.m, s.k, width, i, lane);
          a[at.row][at.col] = elementOf(s.a, w.a[i / parts][lane], i % parts);
        }
        for (int i = 0; i < s.k * s.n / 32; ++i) {
          MmaIndex at = isaB(s.k, width, i, lane);
          b[at.row][at.col] = elementOf(s.b, w.b[i / parts][lane], i % parts);
        }
      }
      mma(s, w.pa, w.pb, w.pc, w.pd);
      int partsC = s.c == MmaType::F16 ? 2 : 1;
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < s.m * s.n / 32; ++i) {
          MmaIndex at = isaC(i, lane);
          double expected = elementOf(s.c, w.c[i / partsC][lane], i % partsC);
          double size = std::fabs(expected);
          for (int k = 0; k < s.k; ++k) {
            expected += a[at.row][k] * b[k][at.col];
            size += std::fabs(a[at.row][k] * b[k][at.col]);
          }
          double got = elementOf(s.d, w.d[i / partsC][lane], i % partsC);
          double limit = s.c == MmaType::S32   ? 0
                         : s.c == MmaType::F16 ? size * 0x1p-11
                                               : size * 17 * 0x1p-24;
          ASSERT_NEAR(got, expected, limit) << s.k << " " << width;
        }
    }
  }
}

TEST(SimMma, Tf32LosesItsLowBits) {
  MmaShape s{16,           8,           8, MmaType::Tf32, MmaType::Tf32,
             MmaType::F32, MmaType::F32};
  Warp w{};
  for (int lane = 0; lane < 32; ++lane) {
    w.a[0][lane] = bitsOf(1.0f) | 0x1fff; // truncated to 1, rounding would not
    w.a[1][lane] = w.a[2][lane] = w.a[3][lane] = 0;
    w.b[0][lane] = bitsOf(1.0f);
    w.b[1][lane] = 0;
    for (auto &reg : w.c)
      reg[lane] = 0;
  }
  mma(s, w.pa, w.pb, w.pc, w.pd);
  EXPECT_EQ(asFloat(w.d[0][0]), 4.0f);
}

TEST(SimMma, IntegersWrapOrClampAndDMayBeC) {
  for (bool clamp : {false, true}) {
    MmaShape s{16,           8,    32, MmaType::U8, MmaType::U8, MmaType::S32,
               MmaType::S32, clamp};
    Warp w;
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < 4; ++r) {
        w.a[r][lane] = ~0u;
        w.c[r][lane] = INT32_MAX;
      }
      w.b[0][lane] = w.b[1][lane] = ~0u;
    }
    uint32_t *d[4] = {w.c[0], w.c[1], w.c[2], w.c[3]};
    mma(s, w.pa, w.pb, w.pc, d);
    uint32_t sum = INT32_MAX + 32u * 255 * 255;
    EXPECT_EQ(w.c[3][31], clamp ? INT32_MAX : sum);
  }
}

TEST(SimMma, Float64) {
  uint64_t a[32], b[32], c0[32], c1[32];
  double ma[8][4], mb[4][8];
  Bits bits(89);
  for (int lane = 0; lane < 32; ++lane) {
    double x = bits.below(1000) / 8.0 - 60, y = bits.below(1000) / 4.0 - 125;
    MmaIndex at = isaA(8, 4, 64, 0, lane), bt = isaB(4, 64, 0, lane);
    ma[at.row][at.col] = x;
    mb[bt.row][bt.col] = y;
    a[lane] = bitsOf(x);
    b[lane] = bitsOf(y);
    c0[lane] = bitsOf(1.0);
    c1[lane] = bitsOf(2.0);
  }
  const uint64_t *c[2] = {c0, c1};
  uint64_t *d[2] = {c0, c1};
  mmaF64(a, b, c, d);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 2; ++i) {
      int row = lane >> 2, col = (lane % 4) * 2 + i;
      double expected = i + 1;
      for (int k = 0; k < 4; ++k)
        expected += ma[row][k] * mb[k][col]; // exact: few bits
      ASSERT_EQ(asDouble(d[i][lane]), expected);
    }
}

// The bases of shared-memory matrices: lane bits 0-1 select a column pair, bits
// 2-4 a row; .trans exchanges rows and columns of elements.
TEST(SimMma, MatrixMoves) {
  uint16_t rows[8][8];
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c)
      rows[r][c] = static_cast<uint16_t>(100 * r + c);
  uint32_t plain[32], turned[32], moved[32];
  loadMatrix(rows, false, plain);
  loadMatrix(rows, true, turned);
  moveMatrix(plain, moved);
  for (int lane = 0; lane < 32; ++lane)
    for (int part = 0; part < 2; ++part) {
      int row = 0, col = part;
      for (int bit = 0; bit < 5; ++bit)
        if (lane >> bit & 1)
          bit < 2 ? col ^= 2 << bit : row ^= 1 << (bit - 2);
      EXPECT_EQ((plain[lane] >> 16 * part) & 0xffff, 100u * row + col);
      EXPECT_EQ((turned[lane] >> 16 * part) & 0xffff, 100u * col + row);
      EXPECT_EQ(moved[lane], turned[lane]);
    }
  for (bool transposed : {false, true}) {
    uint16_t back[8][8] = {};
    storeMatrix(transposed ? turned : plain, transposed, back);
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c)
        EXPECT_EQ(back[r][c], rows[r][c]);
  }
  EXPECT_EQ(matrixRowLane(2, 3), 19);
}

} // namespace
