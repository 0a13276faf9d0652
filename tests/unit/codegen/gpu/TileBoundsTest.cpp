// tests/unit/codegen/gpu/TileBoundsTest.cpp - conditions of masks by brute
// force.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// TileBounds writes a scalar under which a mask is true everywhere. Here the
// mask and the scalar are evaluated for numbers from both ends of i32, where
// sums wrap, and near zero: where the scalar holds, every element must.
#include "codegen/gpu/masks/TileBounds.h"
#include "dialect/tile/TileDialect.h"
#include "tests/unit/codegen/gpu/MaskEvaluator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <optional>
#include <random>

using namespace tessera;
using namespace tessera::codegen;
using namespace mlir;

namespace {

constexpr int64_t top = std::numeric_limits<int32_t>::max();
constexpr int64_t bottom = std::numeric_limits<int32_t>::min();

MLIRContext &context() {
  static MLIRContext *made = [] {
    auto *c = new MLIRContext(MLIRContext::Threading::DISABLED);
    c->loadDialect<tile::TileDialect, arith::ArithDialect, scf::SCFDialect,
                   func::FuncDialect>();
    return c;
  }();
  return *made;
}

// A mask of three numbers %n, %m, %l; %i instead of %n is a loop's counter.
class Mask {
public:
  explicit Mask(const std::string &body, bool wanted = true, int step = 0,
                const std::string &begin = "%m")
      : wanted(wanted) {
    std::string text = "func.func @f(%n: i32, %m: i32, %l: i32) {\n";
    if (step)
      text += "%step = arith.constant " + std::to_string(step) +
              " : i32\n%zero = arith.constant 0 : i32\nscf.for %i = " + begin +
              " to %l step %step : i32 {\n";
    text += body + "tile.assert %mask, \"\" : tensor<4x4xi1>\n";
    text += step ? "}\nreturn\n}\n" : "return\n}\n";
    module = parseSourceString<ModuleOp>(text, &context());
    EXPECT_TRUE(module) << text;
    module->walk([&](tile::AssertOp op) { mask = op.getCondition(); });
    auto function = *module->getOps<func::FuncOp>().begin();
    arguments.assign(function.getArguments().begin(),
                     function.getArguments().end());
    module->walk([&](scf::ForOp op) { arguments[0] = op.getInductionVar(); });
    AxisInfoAnalysis axes(*module);
    OpBuilder b(&context());
    b.setInsertionPoint(*mask.getUsers().begin());
    condition = gpu::TileBounds(b, mask.getLoc(), axes).all(mask, wanted);
    if (!condition)
      return;
    evaluator.emplace(arguments);
    claim = evaluator->elements(condition);
    elements = evaluator->elements(mask);
  }

  // Whether the condition holds and whether the mask does.
  std::pair<bool, bool> of(int64_t n, int64_t m, int64_t l) const {
    evaluator->run({n, m, l});
    return {evaluator->are(claim, true), evaluator->are(elements, wanted)};
  }

  // The condition implies the mask everywhere; the two are equal where `exact`
  // returns true.
  template <typename Exact>
  void check(const std::vector<int64_t> &ns, const std::vector<int64_t> &ms,
             const std::vector<int64_t> &ls, Exact exact) const {
    ASSERT_TRUE(condition);
    int held = 0, tried = 0;
    for (int64_t n : ns)
      for (int64_t m : ms)
        for (int64_t l : ls) {
          auto [claimed, real] = of(n, m, l);
          ++tried;
          held += claimed;
          ASSERT_TRUE(real || !claimed) << n << " " << m << " " << l;
          if (exact(n, m, l)) {
            ASSERT_EQ(claimed, real) << n << " " << m << " " << l;
          }
        }
    EXPECT_GT(held, 0);
    EXPECT_LT(held, tried);
  }

  OwningOpRef<ModuleOp> module;
  Value mask, condition;

private:
  llvm::SmallVector<Value> arguments;
  mutable std::optional<MaskEvaluator> evaluator; // numbers of the last run
  MaskEvaluator::Elements claim, elements;
  bool wanted;
};

std::vector<int64_t> near(std::initializer_list<int64_t> centers, int around) {
  std::vector<int64_t> result;
  for (int64_t center : centers)
    for (int64_t x = center - around; x <= center + around; ++x)
      if (x >= bottom && x <= top)
        result.push_back(x);
  return result;
}

const auto always = [](auto...) { return true; };
const auto never = [](auto...) { return false; };

// pos[None, :] <= t[:, None], pos = n + arange(0, 4), rows = m + arange(0, 4),
// t = min(rows / 3, l - 1).
const std::string causal = R"(
  %cols = tile.range 0, 4 : tensor<4xi32>
  %ns = tile.splat %n : i32 -> tensor<4xi32>
  %pos = arith.addi %ns, %cols : tensor<4xi32>
  %heads = arith.constant dense<3> : tensor<4xi32>
  %lines = tile.range 0, 4 : tensor<4xi32>
  %ms = tile.splat %m : i32 -> tensor<4xi32>
  %rows = arith.addi %ms, %lines : tensor<4xi32>
  %tokens = arith.divsi %rows, %heads : tensor<4xi32>
  %one = arith.constant 1 : i32
  %last = arith.subi %l, %one : i32
  %lasts = tile.splat %last : i32 -> tensor<4xi32>
  %t = arith.minsi %tokens, %lasts : tensor<4xi32>
  %p1 = tile.expand_dims %pos, 0 : tensor<4xi32> -> tensor<1x4xi32>
  %p = tile.broadcast %p1 : tensor<1x4xi32> -> tensor<4x4xi32>
  %t1 = tile.expand_dims %t, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %q = tile.broadcast %t1 : tensor<4x1xi32> -> tensor<4x4xi32>
)";

TEST(TileBounds, CausalIsExactAndSafeWhereSumsWrap) {
  Mask mask(causal + "%mask = arith.cmpi sle, %p, %q : tensor<4x4xi32>\n");
  mask.check(near({0, 10}, 5), near({18}, 20), near({6}, 6), always);
  // Near the ends rows or keys may wrap; then the mask is kept.
  mask.check(near({bottom, 0, top}, 5), near({bottom, 0, top}, 5),
             near({bottom, 0, top}, 2), [](int64_t n, int64_t m, int64_t) {
               return n <= top - 3 && m <= top - 3;
             });
}

const std::string window = causal + R"(
  %w = arith.constant dense<7> : tensor<4x4xi32>
  %first = arith.subi %q, %w : tensor<4x4xi32>
  %seen = arith.cmpi sle, %p, %q : tensor<4x4xi32>
  %close = arith.cmpi sgt, %p, %first : tensor<4x4xi32>
  %mask = arith.andi %seen, %close : tensor<4x4xi1>
)";

TEST(TileBounds, WindowHasTwoEnds) {
  Mask mask(window);
  mask.check(near({0, 15}, 7), near({30}, 30), near({12}, 4), always);
  // t - 7 may wrap, too.
  mask.check(near({bottom, 0, top}, 8), near({bottom, 0, top}, 5),
             near({bottom, 0, top}, 8), never);
}

// All masked: the negation of a conjunction is a disjunction.
TEST(TileBounds, NoneCanBeAskedForToo) {
  Mask mask(window, false);
  mask.check(near({0, 15}, 7), near({30}, 30), near({12}, 4), never);
  mask.check(near({bottom, 0, top}, 8), near({bottom, 0, top}, 5),
             near({bottom, 0, top}, 8), never);
}

// A counter may end anywhere below 2^31, also where a range added to it wraps.
// What rules that out does not change in the loop: a comparison of its end.
TEST(TileBounds, ACounterMayEndAtTheEndOfItsType) {
  const std::string body = R"(
  %cols = tile.range 0, 4 : tensor<4xi32>
  %is = tile.splat %i : i32 -> tensor<4xi32>
  %pos = arith.addi %is, %cols : tensor<4xi32>
  %ls = tile.splat %l : i32 -> tensor<4xi32>
  %low = arith.cmpi slt, %pos, %ls : tensor<4xi32>
  %row = tile.expand_dims %low, 0 : tensor<4xi1> -> tensor<1x4xi1>
  %mask = tile.broadcast %row : tensor<1x4xi1> -> tensor<4x4xi1>
)";
  auto written = [](Mask &mask) {
    int count = 0, inLoop = 0;
    mask.module->walk([&](Operation *op) {
      if (!isa<arith::AddIOp, arith::CmpIOp, arith::AndIOp>(op) ||
          isa<RankedTensorType>(op->getResult(0).getType()))
        return;
      ++count;
      auto loop = op->getParentOfType<scf::ForOp>();
      inLoop += llvm::any_of(op->getOperands(), [&](Value value) {
        return value == loop.getInductionVar();
      });
    });
    return std::pair(count, inLoop);
  };
  // Counters n of the loop: it begins there, or `step` times some number
  // before.
  auto check = [](const Mask &mask, int64_t step, int64_t multiple) {
    int held = 0;
    for (int64_t l : near({bottom + 8, 0, top - 4}, 8))
      for (int64_t n = std::max(bottom, l - 40); n < l; ++n) {
        if (n % multiple)
          continue;
        auto [claimed, real] = mask.of(n, n - (n - bottom) % step, l);
        held += claimed;
        ASSERT_TRUE(real || !claimed) << n << " " << l;
        if (l <= top - 2) {
          ASSERT_EQ(claimed, real) << n << " " << l;
        }
      }
    EXPECT_GT(held, 0);
  };
  for (int step : {2, 4}) {
    Mask mask(body, true, step);
    check(mask, step, 1);
    // i + 3 < l, l <= 2^31 - 3, and both
    EXPECT_EQ(written(mask), std::pair(4, 1)) << step;
  }
  // A multiple of 4 is at least 3 below the end; a multiple of 2 is not.
  Mask fours(body, true, 4, "%zero");
  check(fours, 4, 4);
  EXPECT_EQ(written(fours), std::pair(2, 1));
  Mask twos(body, true, 2, "%zero");
  check(twos, 2, 2);
  EXPECT_EQ(written(twos), std::pair(4, 1));
}

// Products and differences of a counter, too.
TEST(TileBounds, ProductsOfACounterMayWrap) {
  const std::string body = R"(
  %cols = tile.range 0, 4 : tensor<4xi32>
  %three = arith.constant dense<3> : tensor<4xi32>
  %is = tile.splat %i : i32 -> tensor<4xi32>
  %triple = arith.muli %is, %three : tensor<4xi32>
  %pos = arith.subi %triple, %cols : tensor<4xi32>
  %ls = tile.splat %l : i32 -> tensor<4xi32>
  %low = arith.cmpi slt, %pos, %ls : tensor<4xi32>
  %row = tile.expand_dims %low, 0 : tensor<4xi1> -> tensor<1x4xi1>
  %mask = tile.broadcast %row : tensor<1x4xi1> -> tensor<4x4xi1>
)";
  Mask mask(body, true, 4);
  const int64_t third = top / 3;
  int held = 0;
  for (int64_t l : near({bottom + 8, -third, 0, third, top - 4}, 8))
    for (int64_t n = std::max(bottom, l - 40); n < l; ++n)
      for (int64_t m : {n, std::max(bottom, n - 4)}) {
        auto [claimed, real] = mask.of(n, m, l);
        held += claimed;
        ASSERT_TRUE(real || !claimed) << n << " " << m << " " << l;
      }
  EXPECT_GT(held, 0);
}

// min(0, max(n, 0)) is 0 and max(min(n, 0), 0) is 0, without an operation.
TEST(TileBounds, AnExtremumOfRangesThatTouchIsOneOfThem) {
  for (bool greatest : {false, true})
    for (bool constantFirst : {false, true}) {
      const std::string inner = greatest ? "arith.minsi" : "arith.maxsi",
                        outer = greatest ? "arith.maxsi" : "arith.minsi";
      Mask mask("%zero = arith.constant dense<0> : tensor<4xi32>\n"
                "%ns = tile.splat %n : i32 -> tensor<4xi32>\n"
                "%part = " +
                inner + " %ns, %zero : tensor<4xi32>\n%x = " + outer +
                (constantFirst ? " %zero, %part" : " %part, %zero") +
                " : tensor<4xi32>\n"
                "%ms = tile.splat %m : i32 -> tensor<4xi32>\n"
                "%low = arith.cmpi sle, %x, %ms : tensor<4xi32>\n"
                "%row = tile.expand_dims %low, 0 : tensor<4xi1> -> "
                "tensor<1x4xi1>\n"
                "%mask = tile.broadcast %row : tensor<1x4xi1> -> "
                "tensor<4x4xi1>\n");
      mask.check(near({bottom, 0, top}, 3), near({0}, 3), {0}, always);
      mask.module->walk([&](Operation *op) {
        EXPECT_FALSE(op->getName().getStringRef() == outer &&
                     !isa<RankedTensorType>(op->getResult(0).getType()))
            << outer << " " << constantFirst;
      });
    }
}

TEST(TileBounds, WhatIsNotKnownIsRefused) {
  // A quotient by a number that is not a constant, a product of two variables.
  for (const char *op : {"arith.divsi", "arith.muli", "arith.xori"}) {
    Mask mask(causal + "%x = " + op +
              " %p, %q : tensor<4x4xi32>\n"
              "%mask = arith.cmpi sle, %x, %q : tensor<4x4xi32>\n");
    EXPECT_FALSE(mask.condition) << op;
  }
  Mask equal(causal + "%mask = arith.cmpi eq, %p, %q : tensor<4x4xi32>\n");
  EXPECT_FALSE(equal.condition);
}

// Random masks of eight elements; numbers where i32 ends and around zero.
TEST(TileBounds, RandomMasksHoldWhereTheySay) {
  const int64_t edges[] = {
      bottom, bottom + 1, bottom + 9, -64,     -9,      -1,      0,  1, 2, 7, 8,
      21,     64,         top - 20,   top - 8, top - 7, top - 1, top};
  int claims = 0, known = 0;
  constexpr int programs = 500;
  for (int seed = 0; seed < programs && !testing::Test::HasFailure(); ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    auto pick = [&](size_t n) { return size_t(random() % n); };
    OpBuilder b(&context());
    Location loc = b.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    Type i32 = b.getI32Type(), row = RankedTensorType::get({8}, i32);
    auto function = func::FuncOp::create(
        b, loc, "f", b.getFunctionType({i32, i32, i32}, {}));
    Block *body = function.addEntryBlock();
    b.setInsertionPointToEnd(body);
    std::vector<Value> values, masks;
    auto number = [&](int64_t value) {
      return arith::ConstantOp::create(
          b, loc,
          SplatElementsAttr::get(cast<ShapedType>(row),
                                 b.getI32IntegerAttr(int32_t(value))));
    };
    for (Value argument : body->getArguments())
      values.push_back(tile::SplatOp::create(b, loc, row, argument));
    values.push_back(tile::RangeOp::create(b, loc, row, 0, 8));
    values.push_back(tile::RangeOp::create(b, loc, row, 0, 8));
    values.push_back(number(edges[pick(std::size(edges))]));
    values.push_back(number(edges[4 + pick(9)]));
    // New values more often, so that programs get deep.
    auto some = [&](const std::vector<Value> &from) {
      return from[std::max(pick(from.size()), pick(from.size()))];
    };
    auto compare = [&] {
      constexpr auto kinds = arith::getMaxEnumValForCmpIPredicate() + 1;
      masks.push_back(arith::CmpIOp::create(b, loc,
                                            arith::CmpIPredicate(pick(kinds)),
                                            some(values), some(values)));
    };
    for (size_t i = 0, count = 4 + pick(5); i < count; ++i) {
      Value x = some(values), y = some(values);
      switch (pick(8)) {
      case 0:
      case 1:
        values.push_back(arith::AddIOp::create(b, loc, x, y));
        break;
      case 2:
        values.push_back(arith::SubIOp::create(b, loc, x, y));
        break;
      case 3:
        values.push_back(
            arith::MulIOp::create(b, loc, x, number(int64_t(pick(7)) - 1)));
        break;
      case 4:
        values.push_back(
            arith::DivSIOp::create(b, loc, x, number(1 + int64_t(pick(5)))));
        break;
      case 5:
        values.push_back(arith::MinSIOp::create(b, loc, x, y));
        break;
      case 6:
        values.push_back(arith::MaxSIOp::create(b, loc, x, y));
        break;
      default:
        compare();
        values.push_back(arith::SelectOp::create(b, loc, masks.back(), x, y));
      }
    }
    compare();
    compare();
    Value one = masks[masks.size() - 2], two = masks.back();
    Value mask = pick(2) ? Value(arith::AndIOp::create(b, loc, one, two))
                         : Value(arith::OrIOp::create(b, loc, one, two));
    func::ReturnOp::create(b, loc);
    b.setInsertionPoint(body->getTerminator());
    AxisInfoAnalysis axes(*module);
    for (bool wanted : {true, false})
      for (Value subject : {mask, one}) {
        Value condition = gpu::TileBounds(b, loc, axes).all(subject, wanted);
        if (!condition)
          continue;
        ++known;
        MaskEvaluator e(body->getArguments());
        const auto claim = e.elements(condition), all = e.elements(subject);
        for (int trial = 0; trial < 100; ++trial) {
          std::vector<int64_t> numbers;
          for (unsigned i = 0; i < body->getNumArguments(); ++i)
            numbers.push_back(edges[pick(std::size(edges))]);
          e.run(numbers);
          if (!e.are(claim, true))
            continue;
          ++claims;
          if (!e.are(all, wanted)) {
            std::string text;
            llvm::raw_string_ostream out(text);
            module->print(out);
            FAIL() << text;
          }
        }
      }
  }
  // Worth checking.
  EXPECT_GT(known, programs / 2);
  EXPECT_GT(claims, 10 * programs);
}

} // namespace
