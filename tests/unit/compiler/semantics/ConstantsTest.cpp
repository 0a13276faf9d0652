// tests/unit/compiler/semantics/ConstantsTest.cpp - folding as Python does it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Constants.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::semantics {
namespace {

Const i(int64_t value) { return Const(Const::Int(value)); }
Const f(double value) { return Const(value); }

std::string fold(BinaryOp op, const Const &a, const Const &b) {
  Folded folded = foldBinary(op, a, b);
  return folded.why.empty() ? folded.value.str() : "error";
}

// The expected texts are what CPython prints.
TEST(Constants, Integers) {
  EXPECT_EQ(fold(BinaryOp::FloorDiv, i(-7), i(2)), "-4");
  EXPECT_EQ(fold(BinaryOp::FloorDiv, i(7), i(-2)), "-4");
  EXPECT_EQ(fold(BinaryOp::Mod, i(-7), i(2)), "1");
  EXPECT_EQ(fold(BinaryOp::Mod, i(7), i(-2)), "-1");
  EXPECT_EQ(fold(BinaryOp::Div, i(7), i(2)), "3.5");
  EXPECT_EQ(fold(BinaryOp::Pow, i(2), i(64)), "18446744073709551616");
  EXPECT_EQ(fold(BinaryOp::Pow, i(-1), i(101)), "-1");
  EXPECT_EQ(fold(BinaryOp::LShift, i(3), i(40)), "3298534883328");
  EXPECT_EQ(fold(BinaryOp::RShift, i(-5), i(1)), "-3");
  EXPECT_EQ(fold(BinaryOp::Xor, i(6), i(3)), "5");
  EXPECT_EQ(fold(BinaryOp::Add, Const(true), i(2)), "3");
  EXPECT_EQ(fold(BinaryOp::And, Const(true), Const(false)), "False");
}

TEST(Constants, Floats) {
  EXPECT_EQ(fold(BinaryOp::Mod, f(-7.5), i(2)), "0.5");
  EXPECT_EQ(fold(BinaryOp::FloorDiv, f(-7.5), i(2)), "-4.0");
  EXPECT_EQ(fold(BinaryOp::Mul, f(0.1), i(3)), "0.30000000000000004");
  EXPECT_EQ(fold(BinaryOp::Pow, i(2), f(0.5)), "1.4142135623730951");
}

TEST(Constants, Refused) {
  EXPECT_EQ(fold(BinaryOp::Div, i(1), i(0)), "error");
  EXPECT_EQ(fold(BinaryOp::Mod, f(1), f(0)), "error");
  EXPECT_EQ(fold(BinaryOp::LShift, i(1), i(-1)), "error");
  EXPECT_EQ(fold(BinaryOp::Pow, i(10), i(100)), "error");
  EXPECT_EQ(fold(BinaryOp::And, f(1), i(1)), "error");
  EXPECT_EQ(fold(BinaryOp::Add, Const(std::string("a")), i(1)), "error");
}

TEST(Constants, Comparison) {
  EXPECT_TRUE(foldCompare(CompareOp::Eq, i(1), f(1.0)).value.truth());
  EXPECT_TRUE(foldCompare(CompareOp::Ne, Const(), i(0)).value.truth());
  EXPECT_FALSE(foldCompare(CompareOp::Lt, i(2), f(1.5)).value.truth());
  EXPECT_FALSE(foldCompare(CompareOp::Lt, Const(), i(0)).why.empty());
}

TEST(Constants, ParsesFloats) {
  EXPECT_EQ(parseFloat("-inf"), -HUGE_VAL);
  EXPECT_EQ(parseFloat(" 1e3 "), 1000.0);
  EXPECT_EQ(parseFloat("+.5"), 0.5);
  EXPECT_FALSE(parseFloat("1,5"));
  EXPECT_FALSE(parseFloat(""));
}

} // namespace
} // namespace tessera::semantics
