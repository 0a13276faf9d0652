// tests/unit/codegen/DistinctElementsTest.cpp - tiles that name an address
// twice.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/DistinctElements.h"

#include "tests/unit/codegen/AnalysisText.h"

using namespace tessera;
using namespace tessera::codegen;
using tessera::test::AnalysisText;

namespace {

// For each value asked about, 1 if its elements are distinct.
std::string distinct(const std::string &body) {
  const std::string head = R"(
    %i = tile.range 0, 8 : tensor<8xi32>
    %k4 = arith.constant dense<4> : tensor<8xi32>
    %k8 = arith.constant dense<8> : tensor<8xi32>
    %ns = tile.splat %n : i32 -> tensor<8xi32>
    %s = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %row = tile.addptr %s, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  )";
  AnalysisText text(head + body);
  std::string result;
  for (mlir::Value value : text.asked)
    result += hasDistinctElements(value) ? '1' : '0';
  return result;
}

std::string offsets(const std::string &make) {
  return distinct(make + R"(
    %a = tile.addptr %s, %o : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    "test.ask"(%a) : (tensor<8x!tile.ptr<f32>>) -> ())");
}

TEST(DistinctElements, SumsAndMultiplesOfARange) {
  EXPECT_EQ(offsets("%o = arith.addi %i, %ns : tensor<8xi32>"), "1");
  EXPECT_EQ(offsets("%o = arith.subi %ns, %i : tensor<8xi32>"), "1");
  EXPECT_EQ(offsets("%o = arith.muli %i, %ns : tensor<8xi32>"), "1");
  EXPECT_EQ(offsets("%o = arith.shli %i, %k4 : tensor<8xi32>"), "1");
  EXPECT_EQ(offsets("%o = arith.muli %ns, %k4 : tensor<8xi32>"), "0");
}

TEST(DistinctElements, WhatMayMakeTwoOfThemEqual) {
  EXPECT_EQ(offsets("%o = arith.divsi %i, %k4 : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.remsi %i, %k4 : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.andi %i, %k4 : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.shrsi %i, %k4 : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.shli %k4, %i : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.shli %i, %i : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%d = arith.constant dense<[7, 6, 5, 4, 3, 2, 1, 0]> : "
                    "tensor<8xi32>\n%o = arith.addi %i, %d : tensor<8xi32>"),
            "0");
  EXPECT_EQ(offsets("%o = arith.minsi %i, %k4 : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.muli %i, %i : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%o = arith.subi %i, %i : tensor<8xi32>"), "0");
  EXPECT_EQ(offsets("%m = arith.cmpi slt, %i, %k4 : tensor<8xi32>\n%o = "
                    "arith.select %m, %i, %ns : tensor<8xi1>, tensor<8xi32>"),
            "0");
  EXPECT_EQ(offsets("%o = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 6]> : "
                    "tensor<8xi32>"),
            "0");
  EXPECT_EQ(offsets("%t2 = tile.splat %t : !tile.ptr<!tile.ptr<f32>> -> "
                    "tensor<8x!tile.ptr<!tile.ptr<f32>>>\n"
                    "%b = tile.bitcast %t2 : "
                    "tensor<8x!tile.ptr<!tile.ptr<f32>>> -> "
                    "tensor<8x!tile.ptr<i32>>\n"
                    "%o = tile.load %b : tensor<8x!tile.ptr<i32>>"),
            "0");
  EXPECT_EQ(distinct("\"test.ask\"(%s, %row) : (tensor<8x!tile.ptr<f32>>, "
                     "tensor<8x!tile.ptr<f32>>) -> ()"),
            "01");
}

// A tile of 4 rows of 8; `step` from one row to the next.
std::string rows(const std::string &step, const std::string &more = "") {
  return distinct(
      R"(
    %r = tile.range 0, 4 : tensor<4xi32>
    %k1 = arith.constant 1 : i32
    %k7 = arith.constant 7 : i32
    %km7 = arith.constant -7 : i32
    %k8i = arith.constant 8 : i32
    %w = tile.splat )" +
      step + R"( : i32 -> tensor<4xi32>
    %ro = arith.muli %r, %w : tensor<4xi32>
    %re = tile.expand_dims %ro, 1 : tensor<4xi32> -> tensor<4x1xi32>
    %rb = tile.broadcast %re : tensor<4x1xi32> -> tensor<4x8xi32>
    %ce = tile.expand_dims %i, 0 : tensor<8xi32> -> tensor<1x8xi32>
    %cb = tile.broadcast %ce : tensor<1x8xi32> -> tensor<4x8xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<4x8x!tile.ptr<f32>>
    %pr = tile.addptr %ps, %rb : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    %pc = tile.addptr %pr, %cb : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
  )" +
      (more.empty() ? "\"test.ask\"(%pc, %pr) : (tensor<4x8x!tile.ptr<f32>>, "
                      "tensor<4x8x!tile.ptr<f32>>) -> ()"
                    : more));
}

TEST(DistinctElements, RowsThatOverlapOrNot) {
  EXPECT_EQ(rows("%k8i"), "10");
  EXPECT_EQ(rows("%k7"), "00");
  EXPECT_EQ(rows("%k1"), "00");
  EXPECT_EQ(rows("%km7"), "00");
  // A stride of the launch.
  EXPECT_EQ(rows("%n"), "10");
}

TEST(DistinctElements, ShapeOperations) {
  EXPECT_EQ(rows("%n", R"(
    %tr = tile.trans %pc [1, 0] : tensor<4x8x!tile.ptr<f32>> -> tensor<8x4x!tile.ptr<f32>>
    %flat = tile.reshape %tr : tensor<8x4x!tile.ptr<f32>> -> tensor<32x!tile.ptr<f32>>
    %rows = tile.reshape %pr : tensor<4x8x!tile.ptr<f32>> -> tensor<32x!tile.ptr<f32>>
    %long = arith.extsi %cb : tensor<4x8xi32> to tensor<4x8xi64>
    %pl = tile.addptr %pr, %long : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi64>
    %same = tile.bitcast %pl : tensor<4x8x!tile.ptr<f32>> -> tensor<4x8x!tile.ptr<i32>>
    %wide = tile.bitcast %pl : tensor<4x8x!tile.ptr<f32>> -> tensor<4x8x!tile.ptr<i64>>
    %twice = tile.addptr %pc, %cb : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    "test.ask"(%tr, %flat, %rows, %pl, %same, %wide, %twice) : (tensor<8x4x!tile.ptr<f32>>, tensor<32x!tile.ptr<f32>>,
      tensor<32x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<i32>>, tensor<4x8x!tile.ptr<i64>>,
      tensor<4x8x!tile.ptr<f32>>) -> ())"),
            "1101100");
}

TEST(DistinctElements, OffsetsOfTwoAxes) {
  // A product; one that is the same for all columns, in a way that only a
  // branch knows; axes of one element.
  EXPECT_EQ(rows("%n", R"(
    %times = arith.muli %rb, %cb : tensor<4x8xi32>
    %pt = tile.addptr %ps, %times : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    %same = scf.if %c -> tensor<8xi32> {
      scf.yield %ns : tensor<8xi32>
    } else {
      scf.yield %k4 : tensor<8xi32>
    }
    %se = tile.expand_dims %same, 0 : tensor<8xi32> -> tensor<1x8xi32>
    %sb = tile.broadcast %se : tensor<1x8xi32> -> tensor<4x8xi32>
    %pu = tile.addptr %pr, %sb : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    %p3 = tile.splat %p : !tile.ptr<f32> -> tensor<4x1x8x!tile.ptr<f32>>
    %r3 = tile.reshape %rb : tensor<4x8xi32> -> tensor<4x1x8xi32>
    %c3 = tile.reshape %cb : tensor<4x8xi32> -> tensor<4x1x8xi32>
    %pr3 = tile.addptr %p3, %r3 : tensor<4x1x8x!tile.ptr<f32>>, tensor<4x1x8xi32>
    %pc3 = tile.addptr %pr3, %c3 : tensor<4x1x8x!tile.ptr<f32>>, tensor<4x1x8xi32>
    "test.ask"(%pt, %pu, %pr3, %pc3) : (tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>, tensor<4x1x8x!tile.ptr<f32>>,
      tensor<4x1x8x!tile.ptr<f32>>) -> ())"),
            "0001");
}

TEST(DistinctElements, StepsLeadToOtherAddresses) {
  EXPECT_TRUE(areApart({}));
  EXPECT_TRUE(areApart({{1, 7}, {32, 1}, {8, 3}}));
  EXPECT_FALSE(areApart({{1, 7}, {31, 1}, {8, 3}}));
  EXPECT_TRUE(areApart({{1, 7}, {8, std::nullopt}}));
  EXPECT_FALSE(areApart({{16, 1}, {8, std::nullopt}}));
  EXPECT_FALSE(areApart({{0, 1}}));
}

// Rows of a tile that a loop carries overlap from the second iteration on.
TEST(DistinctElements, RowsThatALoopMoves) {
  const std::string loop = R"(
    %other = tile.splat %p : !tile.ptr<f32> -> tensor<4x8x!tile.ptr<f32>>
    %one = tile.range 0, 4 : tensor<4xi32>
    %oe = tile.expand_dims %one, 1 : tensor<4xi32> -> tensor<4x1xi32>
    %ob = tile.broadcast %oe : tensor<4x1xi32> -> tensor<4x8xi32>
    %o1 = tile.addptr %other, %ob : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    %narrow = tile.addptr %o1, %cb : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    %k32 = arith.constant dense<32> : tensor<4x8xi32>
    scf.for %k = %c0 to %n step %c1 iter_args(%a = %pc, %b = %pc) -> (tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>) : i32 {
      %moved = tile.addptr %a, %k32 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
      "test.ask"(%a, %moved, %b) : (tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>) -> ()
      scf.yield %moved, %narrow : tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>
    })";
  EXPECT_EQ(rows("%k8i", loop), "110");
  EXPECT_EQ(rows("%k7", loop), "000");
  EXPECT_EQ(rows("%n", loop), "110");
}

// What a loop or a branch carries is the same along an axis, or is not a sum of
// ranges in one of the cases.
TEST(DistinctElements, OffsetsThatAreCarried) {
  EXPECT_EQ(rows("%n", R"(
    %k4s = arith.constant dense<4> : tensor<4x8xi32>
    %wrapped = arith.remsi %cb, %k4s : tensor<4x8xi32>
    %pw = tile.addptr %pr, %wrapped : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
    scf.for %k = %c0 to %n step %c1 iter_args(%o = %rb, %a = %pc) -> (tensor<4x8xi32>, tensor<4x8x!tile.ptr<f32>>) : i32 {
      %po = tile.addptr %ps, %o : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
      %pq = tile.addptr %po, %cb : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
      "test.ask"(%pq, %a) : (tensor<4x8x!tile.ptr<f32>>, tensor<4x8x!tile.ptr<f32>>) -> ()
      %next = arith.addi %o, %k4s : tensor<4x8xi32>
      scf.yield %next, %pw : tensor<4x8xi32>, tensor<4x8x!tile.ptr<f32>>
    }
    %x = scf.if %c -> tensor<4x8x!tile.ptr<f32>> {
      scf.yield %pr : tensor<4x8x!tile.ptr<f32>>
    } else {
      %far = tile.addptr %pr, %k4s : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
      scf.yield %far : tensor<4x8x!tile.ptr<f32>>
    }
    "test.ask"(%x) : (tensor<4x8x!tile.ptr<f32>>) -> ())"),
            "100");
}

TEST(DistinctElements, LoopsAndBranches) {
  // The pointers move; they are replaced by equal ones; a branch chooses.
  EXPECT_EQ(distinct(R"(
    scf.for %k = %c0 to %n step %c1 iter_args(%a = %row, %b = %row) -> (tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>) : i32 {
      "test.ask"(%a, %b) : (tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>) -> ()
      %next = tile.addptr %a, %k8 : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
      scf.yield %next, %s : tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>
    }
    %x:2 = scf.if %c -> (tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>) {
      scf.yield %row, %row : tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>
    } else {
      %far = tile.addptr %row, %k8 : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
      scf.yield %far, %s : tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>
    }
    "test.ask"(%x#0, %x#1) : (tensor<8x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>) -> ())"),
            "1010");
}

} // namespace
