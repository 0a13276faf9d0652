// tests/unit/codegen/AxisInfoTest.cpp - what is found for index patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Precision: a table of expressions as they occur in kernels and the facts that
// vector accesses need. That the facts hold is AxisInfoRandomTest's matter.
#include "codegen/analysis/AxisInfo.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::codegen;

namespace {

class AxisInfoTest : public testing::Test {
protected:
  AxisInfoTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect,
                        mlir::scf::SCFDialect, mlir::func::FuncDialect>();
  }

  // The body of a kernel with arguments %p (fp32 pointer, 16 bytes), %q (bf16
  // pointer), %n (divisible by 16), %m. Facts of all values that an operation
  // of the name test.NAME reads.
  void analyze(const std::string &body) {
    context.allowUnregisteredDialects();
    std::string text =
        "module" + attributes +
        " {\nfunc.func @k(%p: !tile.ptr<f32> {tile.divisibility = "
        "16 : i32}, %q: !tile.ptr<bf16>, %n: i32 "
        "{tile.divisibility = 16 : i32}, %m: i32) {\n" +
        body + "\nreturn\n}\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    analysis = std::make_unique<AxisInfoAnalysis>(*module);
    marked.clear();
    module->walk([&](mlir::Operation *op) {
      if (op->getName().getStringRef().starts_with("test."))
        for (mlir::Value value : op->getOperands())
          marked.push_back(value);
    });
  }

  // "c d k" of each axis, joined by " | ".
  std::string facts(size_t index = 0) {
    std::string text;
    for (const AxisInfo::Axis &axis : analysis->of(marked.at(index)).axes) {
      text += text.empty() ? "" : " | ";
      text += std::to_string(axis.contiguity) + " " +
              (axis.divisibility == maxDivisor
                   ? "max"
                   : std::to_string(axis.divisibility)) +
              " " + std::to_string(axis.constancy);
    }
    return text;
  }

  mlir::MLIRContext context;
  std::string attributes; // of the module
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<AxisInfoAnalysis> analysis;
  std::vector<mlir::Value> marked;
};

TEST_F(AxisInfoTest, RowPointers) {
  // p + rows[:, None] * n + cols[None, :]
  analyze(R"(
    %r = tile.range 0, 32 : tensor<32xi32>
    %c = tile.range 0, 64 : tensor<64xi32>
    %ns = tile.splat %n : i32 -> tensor<32xi32>
    %rn = arith.muli %r, %ns : tensor<32xi32>
    %re = tile.expand_dims %rn, 1 : tensor<32xi32> -> tensor<32x1xi32>
    %ce = tile.expand_dims %c, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<32x1x!tile.ptr<f32>>
    %pr = tile.addptr %ps, %re : tensor<32x1x!tile.ptr<f32>>, tensor<32x1xi32>
    %pb = tile.broadcast %pr : tensor<32x1x!tile.ptr<f32>> -> tensor<32x64x!tile.ptr<f32>>
    %cb = tile.broadcast %ce : tensor<1x64xi32> -> tensor<32x64xi32>
    %pp = tile.addptr %pb, %cb : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xi32>
    "test.use"(%rn, %pp) : (tensor<32xi32>, tensor<32x64x!tile.ptr<f32>>) -> ())");
  EXPECT_EQ(facts(0), "1 16 1");
  // Any element is at a multiple of 4 bytes, a row starts at one of 16.
  EXPECT_EQ(facts(1), "1 4 1 | 64 16 1");
  EXPECT_EQ(analysis->accessWidth(marked[1], {}, 1), 4);
  EXPECT_EQ(analysis->accessWidth(marked[1], {}, 0), 1);
}

TEST_F(AxisInfoTest, BlockOfAProgram) {
  // q + pid * 128 + arange(128), whose alignment is unknown; masked by < n and
  // < m.
  analyze(R"(
    %c128 = arith.constant 128 : i32
    %i = tile.program_id 0 : i32
    %s = arith.muli %i, %c128 : i32
    %r = tile.range 0, 128 : tensor<128xi32>
    %ss = tile.splat %s : i32 -> tensor<128xi32>
    %o = arith.addi %ss, %r : tensor<128xi32>
    %qs = tile.splat %q : !tile.ptr<bf16> -> tensor<128x!tile.ptr<bf16>>
    %qo = tile.addptr %qs, %o : tensor<128x!tile.ptr<bf16>>, tensor<128xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %po = tile.addptr %ps, %o : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %ns = tile.splat %n : i32 -> tensor<128xi32>
    %ms = tile.splat %m : i32 -> tensor<128xi32>
    %kn = arith.cmpi slt, %o, %ns : tensor<128xi32>
    %km = arith.cmpi slt, %o, %ms : tensor<128xi32>
    "test.use"(%o, %qo, %kn, %km, %po) : (tensor<128xi32>, tensor<128x!tile.ptr<bf16>>, tensor<128xi1>, tensor<128xi1>, tensor<128x!tile.ptr<f32>>) -> ())");
  EXPECT_EQ(facts(0), "128 128 1");
  EXPECT_EQ(facts(1), "128 1 1");
  EXPECT_EQ(facts(2), "1 1 16");
  EXPECT_EQ(facts(3), "1 1 1");
  EXPECT_EQ(analysis->accessWidth(marked[4], marked[2], 0), 4);
  EXPECT_EQ(analysis->accessWidth(marked[4], marked[3], 0), 1);
}

TEST_F(AxisInfoTest, WrappedColumns) {
  // (pid * 64 + arange(64)) % n: runs of 16. // n: groups of 16 are equal.
  analyze(R"(
    %c64 = arith.constant 64 : i32
    %i = tile.program_id 0 : i32
    %s = arith.muli %i, %c64 : i32
    %r = tile.range 0, 64 : tensor<64xi32>
    %ss = tile.splat %s : i32 -> tensor<64xi32>
    %o = arith.addi %ss, %r : tensor<64xi32>
    %ns = tile.splat %n : i32 -> tensor<64xi32>
    %w = arith.remsi %o, %ns : tensor<64xi32>
    %d = arith.divsi %o, %ns : tensor<64xi32>
    %c8 = arith.constant dense<8> : tensor<64xi32>
    %f = arith.subi %r, %c8 : tensor<64xi32>
    %g = arith.remsi %f, %ns : tensor<64xi32>
    "test.use"(%w, %d, %g) : (tensor<64xi32>, tensor<64xi32>, tensor<64xi32>) -> ())");
  EXPECT_EQ(facts(0), "16 16 1");
  EXPECT_EQ(facts(1), "1 1 16");
  EXPECT_EQ(facts(2), "1 1 1"); // -8 % n is -8 in C
}

// In a grid of any size the product may wrap, and what wrapped may be negative.
TEST_F(AxisInfoTest, ColumnsOfAWideGrid) {
  const char *body = R"(
    %c64 = arith.constant 64 : i32
    %i = tile.program_id AXIS : i32
    %s = arith.muli %i, %c64 : i32
    %r = tile.range 0, 64 : tensor<64xi32>
    %ss = tile.splat %s : i32 -> tensor<64xi32>
    %o = arith.addi %ss, %r : tensor<64xi32>
    %ns = tile.splat %n : i32 -> tensor<64xi32>
    %w = arith.remsi %o, %ns : tensor<64xi32>
    "test.use"(%i, %w) : (i32, tensor<64xi32>) -> ())";
  for (bool wide : {false, true})
    for (const char *axis : {"0", "1"}) {
      std::string text = body;
      text.replace(text.find("AXIS"), 4, axis);
      attributes = wide ? " attributes {tessera.wide_grid}" : "";
      analyze(text);
      const bool large = wide && *axis == '0';
      EXPECT_EQ(analysis->of(marked[0]).high, *axis == '1' ? 65534
                                              : large      ? 2147483646
                                                           : (1 << 21) - 1);
      EXPECT_EQ(facts(1), large ? "1 1 1" : "16 16 1");
    }
}

// c falls below zero: nothing is known of (c + range) // 4, although c was
// known to be negative before its bounds were widened.
TEST_F(AxisInfoTest, QuotientsOfFallingNumbers) {
  for (const char *start : {"0", "-4", "-1000000"}) {
    analyze(R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %first = arith.constant )" +
            std::string(start) + R"( : i32
    %r = tile.range 0, 64 : tensor<64xi32>
    %four = arith.constant dense<4> : tensor<64xi32>
    %last = scf.for %i = %c0 to %m step %c1 iter_args(%c = %first) -> (i32) : i32 {
      %s = tile.splat %c : i32 -> tensor<64xi32>
      %x = arith.addi %s, %r : tensor<64xi32>
      %d = arith.divsi %x, %four : tensor<64xi32>
      %w = arith.remsi %x, %four : tensor<64xi32>
      "test.use"(%d, %w) : (tensor<64xi32>, tensor<64xi32>) -> ()
      %next = arith.subi %c, %c4 : i32
      scf.yield %next : i32
    })");
    EXPECT_EQ(facts(0), "1 1 1");
    EXPECT_EQ(facts(1), "1 1 1");
  }
}

// A run that wraps is torn where it becomes a wider number.
TEST_F(AxisInfoTest, ExtendedRuns) {
  analyze(R"(
    %r = tile.range 0, 64 : tensor<64xi32>
    %ms = tile.splat %m : i32 -> tensor<64xi32>
    %ns = tile.splat %n : i32 -> tensor<64xi32>
    %x = arith.addi %ms, %r : tensor<64xi32>
    %y = arith.addi %ns, %r : tensor<64xi32>
    %xw = arith.extsi %x : tensor<64xi32> to tensor<64xi64>
    %yw = arith.extsi %y : tensor<64xi32> to tensor<64xi64>
    %rw = arith.extsi %r : tensor<64xi32> to tensor<64xi64>
    %less = arith.cmpi slt, %x, %r : tensor<64xi32>
    %least = arith.minsi %x, %r : tensor<64xi32>
    "test.use"(%x, %xw, %yw, %rw, %less, %least) : (tensor<64xi32>, tensor<64xi64>, tensor<64xi64>, tensor<64xi64>, tensor<64xi1>, tensor<64xi32>) -> ())");
  EXPECT_EQ(facts(0), "64 1 1");
  EXPECT_EQ(facts(1), "1 1 1");
  EXPECT_EQ(facts(2), "16 16 1");
  EXPECT_EQ(facts(3), "64 max 1");
  EXPECT_EQ(facts(4), "1 1 1");
  EXPECT_EQ(facts(5), "1 1 1");
}

TEST_F(AxisInfoTest, LoopCarriedPointers) {
  analyze(R"(
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %r = tile.range 0, 32 : tensor<32xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>>
    %p0 = tile.addptr %ps, %r : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
    %ns = tile.splat %n : i32 -> tensor<32xi32>
    %c2 = arith.constant dense<2> : tensor<32xi32>
    %l:2 = scf.for %i = %c0 to %m step %c32 iter_args(%pp = %p0, %pu = %p0) -> (tensor<32x!tile.ptr<f32>>, tensor<32x!tile.ptr<f32>>) : i32 {
      "test.use"(%i, %pp, %pu) : (i32, tensor<32x!tile.ptr<f32>>, tensor<32x!tile.ptr<f32>>) -> ()
      %pn = tile.addptr %pp, %ns : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
      %pv = tile.addptr %pu, %c2 : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
      scf.yield %pn, %pv : tensor<32x!tile.ptr<f32>>, tensor<32x!tile.ptr<f32>>
    }
    "test.use"(%l#0) : (tensor<32x!tile.ptr<f32>>) -> ())");
  EXPECT_EQ(facts(0), "1 32 1");
  EXPECT_EQ(analysis->of(marked[0]).low, 0);
  EXPECT_EQ(facts(1), "32 16 1");
  EXPECT_EQ(facts(2), "32 8 1"); // 2 elements of 4 bytes an iteration
  EXPECT_EQ(facts(3), "32 16 1");
}

TEST_F(AxisInfoTest, BoundsDecide) {
  // min(arange(16), 15) is arange(16); arange(16) < 16 is true.
  analyze(R"(
    %r = tile.range 0, 16 : tensor<16xi32>
    %c15 = arith.constant dense<15> : tensor<16xi32>
    %c16 = arith.constant dense<16> : tensor<16xi32>
    %c12 = arith.constant dense<12> : tensor<16xi32>
    %a = arith.minsi %r, %c15 : tensor<16xi32>
    %b = arith.cmpi slt, %r, %c16 : tensor<16xi32>
    %c = arith.cmpi slt, %r, %c12 : tensor<16xi32>
    %d = arith.cmpi sle, %r, %c15 : tensor<16xi32>
    "test.use"(%a, %b, %c, %d) : (tensor<16xi32>, tensor<16xi1>, tensor<16xi1>, tensor<16xi1>) -> ())");
  EXPECT_EQ(facts(0), "16 max 1");
  EXPECT_EQ(analysis->of(marked[1]).constant, 1);
  EXPECT_EQ(facts(2), "1 1 4");
  EXPECT_EQ(analysis->of(marked[3]).constant, 1);
}

TEST_F(AxisInfoTest, Hints) {
  analyze(R"(
    %ms = tile.splat %m : i32 -> tensor<64xi32>
    %r = tile.range 0, 64 : tensor<64xi32>
    %a = arith.addi %ms, %r {tile.divisibility = array<i32: 8>} : tensor<64xi32>
    %x = arith.xori %r, %ms {tile.contiguity = array<i32: 32>, tile.divisibility = array<i32: 4>} : tensor<64xi32>
    %y = arith.xori %r, %ms {tile.constancy = array<i32: 16>} : tensor<64xi32>
    "test.use"(%a, %x, %y) : (tensor<64xi32>, tensor<64xi32>, tensor<64xi32>) -> ())");
  EXPECT_EQ(facts(0), "64 8 1");
  EXPECT_EQ(facts(1), "32 4 1");
  EXPECT_EQ(facts(2), "1 1 16");
}

TEST_F(AxisInfoTest, Assumptions) {
  analyze(R"(
    %c8 = arith.constant 8 : i32
    %c0 = arith.constant 0 : i32
    %rem = arith.remsi %m, %c8 : i32
    %ok = arith.cmpi eq, %rem, %c0 : i32
    %pos = arith.cmpi sgt, %m, %c0 : i32
    %both = arith.andi %ok, %pos : i1
    tile.assume %both : i1
    %neg = arith.cmpi slt, %m, %c0 : i32
    "test.use"(%m, %neg) : (i32, i1) -> ())");
  EXPECT_EQ(facts(0), "1 8 1");
  EXPECT_EQ(analysis->of(marked[0]).low, 1);
  EXPECT_EQ(analysis->of(marked[1]).constant, 0);
}

TEST_F(AxisInfoTest, ShapesKeepRuns) {
  analyze(R"(
    %r = tile.range 0, 64 : tensor<64xi32>
    %a = tile.reshape %r : tensor<64xi32> -> tensor<4x16xi32>
    %b = tile.trans %a [1, 0] : tensor<4x16xi32> -> tensor<16x4xi32>
    %c = tile.reshape %a : tensor<4x16xi32> -> tensor<4x1x16xi32>
    %d = tile.reshape %a : tensor<4x16xi32> -> tensor<64xi32>
    "test.use"(%a, %b, %c, %d) : (tensor<4x16xi32>, tensor<16x4xi32>, tensor<4x1x16xi32>, tensor<64xi32>) -> ())");
  EXPECT_EQ(facts(0), "1 1 1 | 16 16 1");
  EXPECT_EQ(facts(1), "16 16 1 | 1 1 1");
  EXPECT_EQ(facts(2), "1 1 1 | 1 1 1 | 16 16 1");
  EXPECT_EQ(facts(3), "16 16 1");
}

} // namespace
