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

TEST(ForwardWalk, WhileLoopsEndBehindTheirCondition) {
  const std::string loop = "scf.while : () -> () {\n";
  const std::string body = "scf.condition(%c)\n} do {\n";
  EXPECT_EQ(
      walked(loop + see1 + put1 + body + see2 + put2 + "scf.yield\n}\n" + see3),
      (Found{{1, {1, 2}}, {2, {1, 2}}, {3, {1, 2}}}));
  EXPECT_EQ(walked(put1 + loop + clear + body + put2 + "scf.yield\n}\n" + see3),
            (Found{{3, {}}}));
}

} // namespace
