// tests/unit/simulator/arith/CompareTest.cpp - setp and testp against their
// tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Compare.h"

#include <gtest/gtest.h>

using namespace tessera::sim;

namespace {

// The ISA's table for the three outcomes of a comparison and NaN:
// less, equal, greater, unordered.
struct Row {
  Compare op;
  bool less, equal, greater, unordered;
};
constexpr Row Rows[] = {
    {Compare::Eq, false, true, false, false},
    {Compare::Ne, true, false, true, false},
    {Compare::Lt, true, false, false, false},
    {Compare::Le, true, true, false, false},
    {Compare::Gt, false, false, true, false},
    {Compare::Ge, false, true, true, false},
    {Compare::Equ, false, true, false, true},
    {Compare::Neu, true, false, true, true},
    {Compare::Ltu, true, false, false, true},
    {Compare::Leu, true, true, false, true},
    {Compare::Gtu, false, false, true, true},
    {Compare::Geu, false, true, true, true},
    {Compare::Num, true, true, true, false},
    {Compare::Nan, false, false, false, true},
};

template <size_t I>
void checkRow() {
  constexpr Row R = Rows[I];
  uint32_t one = bitsOf(1.0f), two = bitsOf(2.0f), nan = 0x7fc00000;
  EXPECT_EQ(compareF32<R.op>(one, two), R.less) << I;
  EXPECT_EQ(compareF32<R.op>(two, two), R.equal) << I;
  EXPECT_EQ(compareF32<R.op>(0, 0x80000000), R.equal) << I;
  EXPECT_EQ(compareF32<R.op>(two, one), R.greater) << I;
  EXPECT_EQ(compareF32<R.op>(two, nan), R.unordered) << I;
  EXPECT_EQ(compareF32<R.op>(nan, nan), R.unordered) << I;
  EXPECT_EQ((compareF32<R.op, true>(1, 0)), R.equal) << I;
  EXPECT_EQ((compareF32<R.op, false>(1, 0)), R.greater) << I;
  EXPECT_EQ(compareF64<R.op>(bitsOf(1.0), bitsOf(2.0)), R.less) << I;
  EXPECT_EQ(compareF16<R.op>(0x3c00, 0x4000), R.less) << I;
  EXPECT_EQ(compareF16<R.op>(0x7e00, 0x4000), R.unordered) << I;
  EXPECT_EQ(compareBf16<R.op>(0x4000, 0x3f80), R.greater) << I;
}

template <size_t... I>
void checkRows(std::index_sequence<I...>) {
  (checkRow<I>(), ...);
}

TEST(SimCompare, FloatTable) {
  checkRows(std::make_index_sequence<std::size(Rows)>());
}

TEST(SimCompare, Integers) {
  EXPECT_TRUE((compareInt<Compare::Lt, int32_t>(-1, 1)));
  EXPECT_FALSE((compareInt<Compare::Lt, uint32_t>(~0u, 1)));
  EXPECT_FALSE((compareInt<Compare::Lo, int32_t>(-1, 1)));
  EXPECT_TRUE((compareInt<Compare::Hi, int32_t>(-1, 1)));
  EXPECT_TRUE((compareInt<Compare::Hs, uint16_t>(7, 7)));
  EXPECT_TRUE((compareInt<Compare::Ls, uint64_t>(6, 7)));
  EXPECT_TRUE((compareInt<Compare::Ge, int64_t>(INT64_MAX, INT64_MIN)));
  EXPECT_TRUE((compareInt<Compare::Ne, int16_t>(-1, 1)));
}

TEST(SimCompare, TestProperties) {
  struct Case {
    float value;
    bool finite, infinite, number, nan, normal, subnormal;
  };
  const Case cases[] = {
      {0.0f, true, false, true, false, false, false},
      {-1.0f, true, false, true, false, true, false},
      {0x1p-140f, true, false, true, false, false, true},
      {INFINITY, false, true, true, false, false, false},
      {NAN, false, false, false, true, false, false},
  };
  for (const Case &c : cases) {
    uint32_t bits = bitsOf(c.value);
    EXPECT_EQ(testPropertyF32(TestProperty::Finite, bits), c.finite);
    EXPECT_EQ(testPropertyF32(TestProperty::Infinite, bits), c.infinite);
    EXPECT_EQ(testPropertyF32(TestProperty::Number, bits), c.number);
    EXPECT_EQ(testPropertyF32(TestProperty::NotANumber, bits), c.nan);
    EXPECT_EQ(testPropertyF32(TestProperty::Normal, bits), c.normal);
    EXPECT_EQ(testPropertyF32(TestProperty::Subnormal, bits), c.subnormal);
  }
  EXPECT_TRUE(testPropertyF64(TestProperty::Subnormal, 1));
  EXPECT_TRUE(testPropertyF64(TestProperty::Normal, bitsOf(0x1p-140)));
}

} // namespace
