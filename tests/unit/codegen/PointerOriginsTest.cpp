// tests/unit/codegen/PointerOriginsTest.cpp - where pointers come from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/PointerOrigins.h"

#include "tests/unit/codegen/AnalysisText.h"

using namespace tessera;
using namespace tessera::codegen;
using tessera::test::AnalysisText;

namespace {

// The origins of each value asked about: "p", "q", "t", "?" in this order.
std::vector<std::string> origins(const std::string &body) {
  AnalysisText text(body);
  PointerOrigins known;
  std::vector<std::string> result;
  for (mlir::Value value : text.asked) {
    const llvm::SmallPtrSet<mlir::Value, 4> &found = known.of(value);
    std::string names;
    for (unsigned number : {0u, 1u, 2u})
      if (found.contains(text.argument(number)))
        names += "pqt"[number];
    if (found.contains(mlir::Value()))
      names += "?";
    EXPECT_EQ(names.size(), size_t(found.size()));
    result.push_back(names);
  }
  return result;
}

using Names = std::vector<std::string>;

TEST(PointerOrigins, ShapeOperationsKeepTheArgument) {
  EXPECT_EQ(origins(R"(
    %r = tile.range 0, 8 : tensor<8xi32>
    %s = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %a = tile.addptr %s, %r : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    %e = tile.expand_dims %a, 1 : tensor<8x!tile.ptr<f32>> -> tensor<8x1x!tile.ptr<f32>>
    %b = tile.broadcast %e : tensor<8x1x!tile.ptr<f32>> -> tensor<8x4x!tile.ptr<f32>>
    %u = tile.trans %b [1, 0] : tensor<8x4x!tile.ptr<f32>> -> tensor<4x8x!tile.ptr<f32>>
    %v = tile.reshape %u : tensor<4x8x!tile.ptr<f32>> -> tensor<32x!tile.ptr<f32>>
    %w = tile.bitcast %v : tensor<32x!tile.ptr<f32>> -> tensor<32x!tile.ptr<i32>>
    "test.ask"(%p, %a, %b, %w) : (!tile.ptr<f32>, tensor<8x!tile.ptr<f32>>, tensor<8x4x!tile.ptr<f32>>, tensor<32x!tile.ptr<i32>>) -> ())"),
            (Names{"p", "p", "p", "p"}));
}

TEST(PointerOrigins, SelectsAndJoinsHaveBoth) {
  EXPECT_EQ(origins(R"(
    %a = arith.select %c, %p, %q : !tile.ptr<f32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %qs = tile.splat %q : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %j = tile.join %ps, %qs : tensor<8x!tile.ptr<f32>> -> tensor<8x2x!tile.ptr<f32>>
    %l, %r = tile.split %j : tensor<8x2x!tile.ptr<f32>> -> tensor<8x!tile.ptr<f32>>
    "test.ask"(%a, %j, %r) : (!tile.ptr<f32>, tensor<8x2x!tile.ptr<f32>>, tensor<8x!tile.ptr<f32>>) -> ())"),
            (Names{"pq", "pq", "pq"}));
}

TEST(PointerOrigins, WhatWasLoadedOrCastIsUnknown) {
  EXPECT_EQ(origins(R"(
    %a = tile.load %t : !tile.ptr<!tile.ptr<f32>>
    %b = tile.addptr %a, %n : !tile.ptr<f32>, i32
    %d = arith.select %c, %p, %b : !tile.ptr<f32>
    "test.ask"(%b, %d, %t) : (!tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<!tile.ptr<f32>>) -> ())"),
            (Names{"?", "p?", "t"}));
}

// The loop rotates its pointers in every iteration.
TEST(PointerOrigins, LoopsAreFollowedToAFixpoint) {
  EXPECT_EQ(origins(R"(
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %p, %b = %q, %k = %p) -> (!tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<f32>) : i32 {
      %next = tile.addptr %k, %i : !tile.ptr<f32>, i32
      "test.ask"(%a, %k) : (!tile.ptr<f32>, !tile.ptr<f32>) -> ()
      scf.yield %b, %a, %next : !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<f32>
    }
    "test.ask"(%r#1, %r#2) : (!tile.ptr<f32>, !tile.ptr<f32>) -> ())"),
            (Names{"pq", "p", "pq", "p"}));
}

TEST(PointerOrigins, BranchesAndWhileLoops) {
  EXPECT_EQ(origins(R"(
    %b = scf.if %c -> !tile.ptr<f32> {
      scf.yield %p : !tile.ptr<f32>
    } else {
      scf.yield %q : !tile.ptr<f32>
    }
    %w:2 = scf.while (%x = %p, %y = %p) : (!tile.ptr<f32>, !tile.ptr<f32>) -> (!tile.ptr<f32>, !tile.ptr<f32>) {
      "test.ask"(%x) : (!tile.ptr<f32>) -> ()
      scf.condition(%c) %x, %y : !tile.ptr<f32>, !tile.ptr<f32>
    } do {
    ^bb0(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>):
      "test.ask"(%y) : (!tile.ptr<f32>) -> ()
      scf.yield %q, %y : !tile.ptr<f32>, !tile.ptr<f32>
    }
    "test.ask"(%w#0, %w#1, %b) : (!tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<f32>) -> ())"),
            (Names{"pq", "p", "pq", "p", "pq"}));
}

TEST(PointerOrigins, AliasWhereAnOriginIsSharedOrUnknown) {
  AnalysisText text(R"(
    %a = arith.select %c, %p, %q : !tile.ptr<f32>
    %u = tile.load %t : !tile.ptr<!tile.ptr<f32>>
    "test.ask"(%p, %q, %a, %u) : (!tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<f32>) -> ())");
  PointerOrigins origins;
  std::string found;
  for (mlir::Value left : text.asked)
    for (mlir::Value right : text.asked)
      found += origins.mayAlias(left, right) ? '1' : '0';
  EXPECT_EQ(found, "1011"
                   "0111"
                   "1111"
                   "1111");
}

TEST(PointerOrigins, BuffersAreFoundThroughTheirViews) {
  const char *types = R"(
#rows = #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>
#columns = #tile.shared<8x4, offset = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]]>
#lanes = #tile.linear<8x4, register = [], lane = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], warp = []>
)";
  AnalysisText text(R"(
    %b = tile.smem_alloc : !tile.smem<2 x 4x8xf16, #rows>
    %other = tile.smem_alloc : !tile.smem<1 x 4x8xf16, #rows>
    %v = tile.smem_index %b[%n] : !tile.smem<2 x 4x8xf16, #rows>
    %u = tile.smem_trans %v [1, 0] : !tile.smem<1 x 4x8xf16, #rows> -> !tile.smem<1 x 8x4xf16, #columns>
    %x = tile.smem_load %u : !tile.smem<1 x 8x4xf16, #columns> -> tensor<8x4xf16, #lanes>
    tile.smem_store %x, %u : tensor<8x4xf16, #lanes> -> !tile.smem<1 x 8x4xf16, #columns>
    "test.ask"(%b, %u, %other) : (!tile.smem<2 x 4x8xf16, #rows>, !tile.smem<1 x 8x4xf16, #columns>, !tile.smem<1 x 4x8xf16, #rows>) -> ())",
                    types);
  ASSERT_EQ(text.asked.size(), 3u);
  tile::SmemAllocOp buffer = sharedBufferOf(text.asked[0]);
  EXPECT_EQ(buffer.getResult(), text.asked[0]);
  EXPECT_EQ(sharedBufferOf(text.asked[1]), buffer);
  EXPECT_NE(sharedBufferOf(text.asked[2]), buffer);
  std::multiset<std::string> names;
  for (mlir::Operation *user : usersOfBuffer(buffer))
    names.insert(user->getName().getStringRef().str());
  EXPECT_EQ(names,
            (std::multiset<std::string>{"test.ask", "test.ask",
                                        "tile.smem_load", "tile.smem_store"}));
}

} // namespace
