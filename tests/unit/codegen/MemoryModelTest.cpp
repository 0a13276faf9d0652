// tests/unit/codegen/MemoryModelTest.cpp - tests the memory behavior that
// MemoryModel.cpp gives to each operation of the tile dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/MemoryModel.h"

#include "tests/unit/codegen/AnalysisText.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <set>

using namespace tessera;
using namespace tessera::codegen;
using tessera::test::AnalysisText;

namespace {

const char *types = R"(
#v = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
#s = #tile.shared<32, offset = [[1], [2], [4], [8], [16]]>
#m = #tile.linear<16x16, register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = []>
#t = #tile.shared<16x16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]>
)";

// Contains every operation of the dialect at least once. The results of atomics
// have a use (`test.use`), because an atomic acquires only if its old element
// is used. A dot reads one smem_load, so that its read is at the dot.
const char *everything = R"(
  %pid = tile.program_id 0 : i32
  %np = tile.num_programs 0 : i32
  %i = tile.range 0, 32 : tensor<32xi32, #v>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>, #v>
  %x = tile.addptr %ps, %i : tensor<32x!tile.ptr<f32>, #v>, tensor<32xi32, #v>
  %a = tile.load %x : tensor<32x!tile.ptr<f32>, #v>
  tile.store %x, %a : tensor<32x!tile.ptr<f32>, #v>, tensor<32xf32, #v>
  %old = tile.atomic_rmw fadd %x, %a : tensor<32x!tile.ptr<f32>, #v>, tensor<32xf32, #v>
  %ip = tile.bitcast %p : !tile.ptr<f32> -> !tile.ptr<i32>
  %cas = tile.atomic_cas %ip, %n, %n : !tile.ptr<i32>, i32
  %h = tile.convert %a rtne : tensor<32xf32, #v> -> tensor<32xf16, #v>
  %g = arith.constant dense<1.0> : tensor<32xf32>
  %k = arith.constant dense<1> : tensor<32xi32>
  %e = tile.expand_dims %g, 1 : tensor<32xf32> -> tensor<32x1xf32>
  %b = tile.broadcast %e : tensor<32x1xf32> -> tensor<32x4xf32>
  %f = tile.reshape %b : tensor<32x4xf32> -> tensor<128xf32>
  %u = tile.trans %b [1, 0] : tensor<32x4xf32> -> tensor<4x32xf32>
  %j = tile.join %g, %g : tensor<32xf32> -> tensor<32x2xf32>
  %l, %r = tile.split %j : tensor<32x2xf32> -> tensor<32xf32>
  %c2 = tile.convert_layout %a : tensor<32xf32, #v> -> tensor<32xf32, #v>
  %red = tile.reduce sum %a, 0 : tensor<32xf32, #v> -> f32
  %scan = tile.scan sum %a, 0 : tensor<32xf32, #v>
  %gather = tile.gather %a, %i, 0 : tensor<32xf32, #v>, tensor<32xi32, #v> -> tensor<32xf32, #v>
  %hist = tile.histogram %k : tensor<32xi32> -> tensor<8xi32>
  %sort = tile.sort %a : tensor<32xf32, #v>
  %rby = tile.reduce_by %a axis 0 : tensor<32xf32, #v> -> f32 {
  ^bb0(%y: f32, %z: f32):
    %w = arith.mulf %y, %z : f32
    tile.yield %w : f32
  }
  %sby = tile.scan_by %a axis 0 : tensor<32xf32, #v> -> tensor<32xf32, #v> {
  ^bb0(%y: f32, %z: f32):
    %w = arith.mulf %y, %z : f32
    tile.yield %w : f32
  }
  tile.print "a" %a : tensor<32xf32, #v>
  tile.assert %c, "no" : i1
  tile.assume %c : i1
  %buf = tile.smem_alloc : !tile.smem<2 x 32xf32, #s>
  %one = tile.smem_index %buf[%n] : !tile.smem<2 x 32xf32, #s>
  %copy = tile.async_copy %x, %one vector 1 : tensor<32x!tile.ptr<f32>, #v> -> !tile.smem<1 x 32xf32, #s>
  %none = tile.async_done
  %group = tile.async_commit %copy, %none
  tile.async_wait %group
  tile.barrier
  %sl = tile.smem_load %one : !tile.smem<1 x 32xf32, #s> -> tensor<32xf32, #v>
  tile.smem_store %sl, %one : tensor<32xf32, #v> -> !tile.smem<1 x 32xf32, #s>
  %tb = tile.smem_alloc : !tile.smem<1 x 16x16xf16, #t>
  %tt = tile.smem_trans %tb [0, 1] : !tile.smem<1 x 16x16xf16, #t> -> !tile.smem<1 x 16x16xf16, #t>
  %da = tile.smem_load %tt : !tile.smem<1 x 16x16xf16, #t> -> tensor<16x16xf16, #m>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #m>
  %db = arith.constant dense<1.0> : tensor<16x16xf16, #m>
  %d = tile.dot %da, %db, %zero tf32 : tensor<16x16xf16, #m>, tensor<16x16xf16, #m> -> tensor<16x16xf32, #m>
  "test.use"(%old, %cas) : (tensor<32xf32, #v>, i32) -> ()
)";

std::string describe(const MemoryBehavior &behavior) {
  std::string text;
  auto add = [&](const std::string &word) {
    text += (text.empty() ? "" : " ") + word;
  };
  for (const MemoryAccess &access : behavior.accesses) {
    add(access.space == MemorySpace::Global ? "global" : "shared");
    text += std::string(access.reads ? " r" : "") + (access.writes ? " w" : "");
    if (access.atomic)
      add("atomic");
    if (access.proxy == Proxy::Async)
      add("async");
    if (access.completion != Completion::InOrder)
      add(access.completion == Completion::AtDot ? "at-dot" : "at-wait");
  }
  if (behavior.scratch != ScratchUse::None)
    add(behavior.scratch == ScratchUse::Waits ? "scratch" : "scratch-omits");
  if (behavior.async != AsyncRole::None)
    add(behavior.async == AsyncRole::Commits ? "commits" : "waits");
  if (behavior.isBarrier)
    add("barrier");
  if (behavior.releases)
    add("releases");
  if (behavior.acquires)
    add("acquires");
  if (behavior.writesLog)
    add("log");
  return text;
}

TEST(MemoryModel, DescribesEachOperation) {
  AnalysisText text(everything, types);
  std::map<std::string, std::string> found;
  text.module->walk([&](mlir::Operation *op) {
    if (op->getName().getDialectNamespace() != "tile")
      return;
    const std::string behavior = describe(memoryBehaviorOf(op));
    if (!behavior.empty())
      found[op->getName().stripDialect().str()] += "(" + behavior + ")";
  });
  const std::map<std::string, std::string> expected = {
      {"load", "(global r)"},
      {"store", "(global w)"},
      {"atomic_rmw", "(global r w atomic scratch releases acquires)"},
      {"atomic_cas", "(global r w atomic scratch releases acquires)"},
      {"convert_layout", "(scratch-omits)"},
      {"sort", "(scratch)"},
      {"reduce", "(scratch-omits)"},
      {"reduce_by", "(scratch-omits)"},
      {"scan", "(scratch-omits)"},
      {"scan_by", "(scratch-omits)"},
      {"gather", "(scratch-omits)"},
      {"histogram", "(scratch-omits)"},
      {"print", "(log)"},
      {"assert", "(log)"},
      {"async_copy", "(global r async at-wait shared w async at-wait)"},
      {"async_commit", "(commits)"},
      {"async_wait", "(waits)"},
      {"barrier", "(barrier)"},
      {"smem_load", "(shared r)(shared r at-dot)"},
      {"smem_store", "(shared w)"},
      {"dot", "(shared r scratch)"},
  };
  EXPECT_EQ(found, expected);
}

// A new operation of the dialect needs an entry in MemoryModel.cpp and a line
// in `everything`.
TEST(MemoryModel, EveryOperationOfTheDialectHasAnEntry) {
  AnalysisText text(everything, types);
  std::set<std::string> shown, registered;
  text.module->walk([&](mlir::Operation *op) {
    if (op->getName().getDialectNamespace() != "tile")
      return;
    shown.insert(op->getName().getStringRef().str());
    EXPECT_TRUE(hasMemoryEntry(op)) << op->getName().getStringRef().str();
  });
  for (mlir::RegisteredOperationName name :
       text.context.getRegisteredOperationsByDialect("tile"))
    registered.insert(name.getStringRef().str());
  EXPECT_EQ(shown, registered);
}

// MLIR's passes use the effects that ODS declares, so MemoryModel must agree
// with them. Exceptions: a barrier also declares a read and `assume` a write,
// so that passes do not move them, and a dot's read is declared by its
// smem_load.
TEST(MemoryModel, AgreesWithDeclaredEffects) {
  AnalysisText text(everything, types);
  text.module->walk([&](mlir::Operation *op) {
    if (op->getName().getDialectNamespace() != "tile")
      return;
    const std::string name = op->getName().getStringRef().str();
    const MemoryBehavior behavior = memoryBehaviorOf(op);
    bool reads = false;
    for (const MemoryAccess &access : behavior.accesses)
      reads |= access.reads;
    // ODS declares the read on the smem_load. The dot that executes this load
    // declares none.
    const bool declaresRead = mlir::hasEffect<mlir::MemoryEffects::Read>(op);
    EXPECT_EQ(reads, mlir::isa<tile::DotOp>(op) ||
                         (declaresRead && !behavior.isBarrier))
        << name;
    // `assume` declares a write only so that passes do not move or delete it.
    const bool acts = behavior.writes() || behavior.isBarrier ||
                      behavior.async != AsyncRole::None;
    EXPECT_EQ(acts, mlir::hasEffect<mlir::MemoryEffects::Write>(op) &&
                        !mlir::isa<tile::AssumeOp>(op))
        << name;
  });
}

std::vector<std::string> behaviors(const std::string &body) {
  AnalysisText text(body, types);
  std::vector<std::string> result;
  for (mlir::Operation &op : text.kernel().getBody().front())
    if (std::string one = describe(memoryBehaviorOf(&op)); !one.empty())
      result.push_back(one);
  return result;
}

TEST(MemoryModel, OrderOfAtomicsAndVolatileLoads) {
  auto atomic = [](const std::string &sem, bool used) {
    return behaviors(
               "%ip = tile.bitcast %p : !tile.ptr<f32> -> !tile.ptr<i32>\n"
               "%o = tile.atomic_rmw xchg %ip, %n " +
               (sem.empty() ? "" : "{sem = \"" + sem + "\"}") +
               " : !tile.ptr<i32>, i32\n" +
               (used ? "%s = arith.addi %o, %o : i32" : ""))
        .at(0);
  };
  const std::string base = "global r w atomic scratch";
  EXPECT_EQ(atomic("", true), base + " releases acquires");
  EXPECT_EQ(atomic("", false), base + " releases");
  EXPECT_EQ(atomic("acq_rel", true), base + " releases acquires");
  EXPECT_EQ(atomic("acquire", true), base + " acquires");
  EXPECT_EQ(atomic("acquire", false), base);
  EXPECT_EQ(atomic("release", true), base + " releases");
  EXPECT_EQ(atomic("relaxed", true), base);
  EXPECT_EQ(behaviors("%v = tile.load %p {isVolatile} : !tile.ptr<f32>").at(0),
            "global r acquires");
}

// Two atomics commute if both have the same kind, other than xchg, and the same
// type, and neither old element is used. In the expected text, word i,
// character j: the write i commutes with the write j, in the order a, b, d, e,
// f, g, h, store.
TEST(MemoryModel, AtomicsThatCommute) {
  AnalysisText text(R"(
  %ip = tile.bitcast %p : !tile.ptr<f32> -> !tile.ptr<i32>
  %lp = tile.bitcast %p : !tile.ptr<f32> -> !tile.ptr<i64>
  %l = arith.extsi %n : i32 to i64
  %a = tile.atomic_rmw add %ip, %n : !tile.ptr<i32>, i32
  %b = tile.atomic_rmw add %ip, %n {sem = "relaxed"} : !tile.ptr<i32>, i32
  %d = tile.atomic_rmw max %ip, %n : !tile.ptr<i32>, i32
  %e = tile.atomic_rmw add %lp, %l : !tile.ptr<i64>, i64
  %f = tile.atomic_rmw add %ip, %n : !tile.ptr<i32>, i32
  %g = tile.atomic_rmw xchg %ip, %n : !tile.ptr<i32>, i32
  %h = tile.atomic_cas %ip, %n, %n : !tile.ptr<i32>, i32
  tile.store %ip, %n : !tile.ptr<i32>, i32
  "test.use"(%f) : (i32) -> ())");
  std::vector<MemoryAccess> accesses;
  for (mlir::Operation &op : text.kernel().getBody().front())
    if (auto access = memoryBehaviorOf(&op).accessOf(MemorySpace::Global);
        access && access->writes && access->through)
      accesses.push_back(*access);
  ASSERT_EQ(accesses.size(), 8u);
  std::string found;
  for (const MemoryAccess &one : accesses) {
    for (const MemoryAccess &other : accesses)
      found += one.commutesWith(other) ? '1' : '0';
    found += ' ';
  }
  EXPECT_EQ(found, "11000000 11000000 00100000 00010000 "
                   "00000000 00000000 00000000 00000000 ");
}

// Returns the behavior of a smem_load that a dot uses, with the operations
// `between` between the two.
std::string loadBefore(const std::string &between) {
  return behaviors(R"(
  %s = tile.smem_alloc : !tile.smem<1 x 16x16xf16, #t>
  %z = arith.constant dense<0.0> : tensor<16x16xf32, #m>
  %k = arith.constant dense<1.0> : tensor<16x16xf16, #m>
  %a = tile.smem_load %s : !tile.smem<1 x 16x16xf16, #t> -> tensor<16x16xf16, #m>
)" + between + R"(
  %d = tile.dot %a, %k, %z tf32 : tensor<16x16xf16, #m>, tensor<16x16xf16, #m> -> tensor<16x16xf32, #m>)")
      .at(0);
}

TEST(MemoryModel, DotExecutesLoadIfNothingIntervenes) {
  const std::string late = "shared r at-dot", now = "shared r";
  EXPECT_EQ(loadBefore(""), late);
  EXPECT_EQ(loadBefore("%y = tile.load %p : !tile.ptr<f32>"), late);
  EXPECT_EQ(
      loadBefore("%b = tile.smem_load %s : !tile.smem<1 x 16x16xf16, #t> -> "
                 "tensor<16x16xf16, #m>\n%e = tile.dot %b, %k, %z tf32 : "
                 "tensor<16x16xf16, #m>, tensor<16x16xf16, #m> -> "
                 "tensor<16x16xf32, #m>"),
      late);
  // `tile.barrier scratch` exists only after tessera-allocate-shared has
  // assigned offsets. It does not prevent the dot from executing the load.
  EXPECT_EQ(loadBefore("tile.barrier scratch\n%y = tile.convert_layout %z "
                       "{tile.scratch = 0 : i64} : tensor<16x16xf32, #m> -> "
                       "tensor<16x16xf32, #m>"),
            late);
  EXPECT_EQ(loadBefore("tile.barrier"), now);
  EXPECT_EQ(loadBefore("%g = tile.async_done\ntile.async_wait %g"), now);
  EXPECT_EQ(loadBefore("%g = tile.async_done\n%h = tile.async_commit %g"), now);
  EXPECT_EQ(loadBefore("tile.smem_store %k, %s : tensor<16x16xf16, #m> -> "
                       "!tile.smem<1 x 16x16xf16, #t>"),
            now);
  EXPECT_EQ(loadBefore("scf.if %c {\n}"), now);
  EXPECT_EQ(loadBefore("\"test.use\"(%a) : (tensor<16x16xf16, #m>) -> ()"),
            now);
}

// An unknown operation may do anything.
TEST(MemoryModel, UnknownOperations) {
  AnalysisText text("\"test.unknown\"() : () -> ()\n"
                    "%x = arith.addi %n, %n : i32\n"
                    "scf.if %c {\n}");
  std::map<std::string, std::string> found;
  text.module->walk([&](mlir::Operation *op) {
    found[op->getName().getStringRef().str()] = describe(memoryBehaviorOf(op));
  });
  EXPECT_EQ(found["test.unknown"], "global r w shared r w");
  EXPECT_EQ(found["arith.addi"], "");
  EXPECT_EQ(found["scf.if"], "");
  EXPECT_EQ(found["func.return"], "");
  text.module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() != "test.unknown")
      return;
    ASSERT_TRUE(globalWriteOf(op));
    EXPECT_FALSE(globalWriteOf(op)->through);
  });
}

} // namespace
