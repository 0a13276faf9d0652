// tests/unit/codegen/ForwardWalkTest.cpp - states at loops and branches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/ForwardWalk.h"

#include "tests/unit/codegen/AnalysisText.h"

#include <map>
#include <set>

using namespace tessera;
using namespace tessera::codegen;
using tessera::test::AnalysisText;

namespace {

// The numbers of the test.put that may have come before each test.see.
struct Seen {
  std::set<int> all;
  bool join(const Seen &other) {
    size_t had = all.size();
    all.insert(other.all.begin(), other.all.end());
    return all.size() != had;
  }
};

class Record : public ForwardWalk<Seen> {
public:
  std::map<int, std::set<int>> before;

private:
  static int numberOf(mlir::Operation *op) {
    return int(op->getAttrOfType<mlir::IntegerAttr>("n").getInt());
  }
  void visit(mlir::Operation *op, Seen &state) final {
    if (op->getName().getStringRef() == "test.see")
      before[numberOf(op)] = state.all;
    if (op->getName().getStringRef() == "test.put")
      state.all.insert(numberOf(op));
    if (op->getName().getStringRef() == "test.clear")
      state = {};
  }
};

std::map<int, std::set<int>> walked(const std::string &body) {
  AnalysisText text(body);
  Record record;
  Seen state;
  record.walk(text.kernel().getBody().front(), state);
  return record.before;
}

const std::string put1 = "\"test.put\"() {n = 1} : () -> ()\n",
                  put2 = "\"test.put\"() {n = 2} : () -> ()\n",
                  see1 = "\"test.see\"() {n = 1} : () -> ()\n",
                  see2 = "\"test.see\"() {n = 2} : () -> ()\n",
                  see3 = "\"test.see\"() {n = 3} : () -> ()\n",
                  clear = "\"test.clear\"() : () -> ()\n";

using Found = std::map<int, std::set<int>>;

TEST(ForwardWalk, BranchesJoin) {
  EXPECT_EQ(walked("scf.if %c {\n" + put1 + "} else {\n" + see2 + put2 + "}\n" +
                   see1),
            (Found{{1, {1, 2}}, {2, {}}}));
  EXPECT_EQ(walked(put1 + "scf.if %c {\n" + clear + "}\n" + see1),
            (Found{{1, {1}}}));
}

TEST(ForwardWalk, LoopsSeeTheIterationBefore) {
  EXPECT_EQ(walked("scf.for %i = %c0 to %n step %c1 : i32 {\n" + see1 + put1 +
                   "}\n" + see2),
            (Found{{1, {1}}, {2, {1}}}));
  // It may run not at all.
  EXPECT_EQ(walked(put1 + "scf.for %i = %c0 to %n step %c1 : i32 {\n" + see1 +
                   clear + "}\n" + see2),
            (Found{{1, {1}}, {2, {1}}}));
  // Two iterations carry it around two loops.
  EXPECT_EQ(walked("scf.for %i = %c0 to %n step %c1 : i32 {\n" + see1 +
                   "scf.for %k = %c0 to %n step %c1 : i32 {\n" + see2 + put2 +
                   "}\n" + put1 + "}"),
            (Found{{1, {1, 2}}, {2, {1, 2}}}));
}

TEST(ForwardWalk, WhileLoopsEndAfterTheirCondition) {
  const std::string loop = "scf.while : () -> () {\n";
  const std::string body = "scf.condition(%c)\n} do {\n";
  EXPECT_EQ(
      walked(loop + see1 + put1 + body + see2 + put2 + "scf.yield\n}\n" + see3),
      (Found{{1, {1, 2}}, {2, {1, 2}}, {3, {1, 2}}}));
  EXPECT_EQ(walked(put1 + loop + clear + body + put2 + "scf.yield\n}\n" + see3),
            (Found{{3, {}}}));
}

// The numbers of the test.make whose result each value may be.
struct Numbers {
  std::map<void *, std::set<int>> of;
  bool join(const Numbers &other) {
    bool grown = false;
    for (const auto &[value, numbers] : other.of)
      for (int number : numbers)
        grown |= of[value].insert(number).second;
    return grown;
  }
};

class Trace : public ForwardWalk<Numbers> {
public:
  std::map<int, std::set<int>> seen;

private:
  void visit(mlir::Operation *op, Numbers &state) final {
    auto number = op->getAttrOfType<mlir::IntegerAttr>("n");
    if (number && op->getNumResults())
      state.of[op->getResult(0).getAsOpaquePointer()] = {int(number.getInt())};
    if (number && op->getNumOperands())
      seen[int(number.getInt())] =
          state.of[op->getOperand(0).getAsOpaquePointer()];
  }
  void hand(mlir::ValueRange from, mlir::ValueRange to, Numbers &state) final {
    ASSERT_EQ(from.size(), to.size());
    std::vector<std::set<int>> all;
    for (mlir::Value value : from)
      all.push_back(state.of[value.getAsOpaquePointer()]);
    for (size_t i = 0; i < all.size(); ++i)
      state.of[to[unsigned(i)].getAsOpaquePointer()] = all[i];
  }
};

std::map<int, std::set<int>> traced(const std::string &body) {
  AnalysisText text(body);
  Trace trace;
  Numbers state;
  trace.walk(text.kernel().getBody().front(), state);
  return trace.seen;
}

std::string make(const std::string &name, int n) {
  return "%" + name + " = \"test.make\"() {n = " + std::to_string(n) +
         "} : () -> i32\n";
}
std::string see(const std::string &name, int n) {
  return "\"test.see\"(%" + name + ") {n = " + std::to_string(n) +
         "} : (i32) -> ()\n";
}

TEST(ForwardWalk, BranchesHandOn) {
  EXPECT_EQ(traced("%r = scf.if %c -> i32 {\n" + make("a", 1) +
                   "scf.yield %a : i32\n} else {\n" + make("b", 2) +
                   "scf.yield %b : i32\n}\n" + see("r", 9)),
            (Found{{9, {1, 2}}}));
}

TEST(ForwardWalk, LoopsHandOn) {
  // Through two carried values, which are swapped in each iteration.
  EXPECT_EQ(traced(make("a", 1) + make("b", 2) +
                   "%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, "
                   "%y = %b) -> (i32, i32) : i32 {\n" +
                   see("x", 7) + make("d", 3) + see("y", 8) +
                   "scf.yield %y, %d : i32, i32\n}\n" + see("r#0", 9)),
            (Found{{7, {1, 2, 3}}, {8, {2, 3}}, {9, {1, 2, 3}}}));
}

TEST(ForwardWalk, WhileLoopsHandOn) {
  EXPECT_EQ(traced(make("a", 1) +
                   "%r = scf.while (%x = %a) : (i32) -> i32 {\n" + see("x", 7) +
                   make("b", 2) +
                   "scf.condition(%c) %b : i32\n} do {\n^bb0(%y: i32):\n" +
                   see("y", 8) + make("d", 3) + "scf.yield %d : i32\n}\n" +
                   see("r", 9)),
            (Found{{7, {1, 3}}, {8, {2}}, {9, {2}}}));
}

} // namespace
