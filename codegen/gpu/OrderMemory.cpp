// codegen/gpu/OrderMemory.cpp - barriers between accesses of one program.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/OrderMemory.h"

#include "codegen/analysis/PointerOrigins.h"
#include "codegen/gpu/GlobalAccess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using tessera::layout::Dim;

namespace tessera::codegen::gpu {
namespace {

enum class Kind { Load, Store, Atomic };

// An access of global memory that no barrier has followed yet.
struct Access {
  Operation *op;
  Kind kind;
  // The value of the pointer is that of the same SSA value now: no iteration of
  // a loop that computes it has begun since.
  bool current = true;

  Value pointer() const { return op->getOperand(0); }
  bool isScalar() const { return !isa<RankedTensorType>(pointer().getType()); }
  bool writes() const { return kind != Kind::Load; }
};

std::optional<Access> accessOf(Operation *op) {
  if (isa<tile::LoadOp, tile::AsyncCopyOp>(op))
    return Access{op, Kind::Load};
  if (isa<tile::StoreOp>(op))
    return Access{op, Kind::Store};
  if (isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
    return Access{op, Kind::Atomic};
  return std::nullopt;
}

// One element in one thread.
bool hasCopies(Type type) {
  tile::LinearAttr attr = tile::layoutOf(type);
  if (!attr)
    return true;
  layout::LinearLayout layout = attr.layout();
  return layout.freeBits(Dim::Lane) || layout.freeBits(Dim::Warp);
}

class Ordering {
public:
  void run(func::FuncOp function) {
    Pending pending;
    for (Block &block : function.getBody())
      walk(block, pending);
  }

private:
  // Few: accesses through different arguments since the last barrier.
  using Pending = llvm::MapVector<Operation *, Access>;

  bool needsBarrier(const Access &before, const Access &next) {
    // Both are done by thread 0.
    if (before.isScalar() && next.isScalar() && before.writes() &&
        next.writes())
      return false;
    if (releases(next.op) && before.kind != Kind::Atomic &&
        (next.isScalar() || before.kind == Kind::Store))
      return true;
    if (!before.writes() && !next.writes())
      return false;
    if (before.kind == Kind::Atomic && next.kind == Kind::Atomic)
      return false;
    if (!origins.mayAlias(before.pointer(), next.pointer()))
      return false;
    // The next tile of an output.
    if (before.op == next.op && isComputedAddress(next.pointer()))
      return false;
    if (!before.current || before.pointer() != next.pointer() ||
        hasCopies(next.pointer().getType()))
      return true;
    // Pointers that were looked up may be equal in several threads: all of them
    // load before one stores.
    return !before.writes() && !isComputedAddress(next.pointer());
  }

  void visit(Operation *op, Pending &pending) {
    if (isa<tile::BarrierOp>(op)) {
      pending.clear();
      return;
    }
    std::optional<Access> access = accessOf(op);
    if (!access)
      return;
    if (llvm::any_of(pending, [&](const auto &entry) {
          return needsBarrier(entry.second, *access);
        })) {
      OpBuilder builder(op);
      tile::BarrierOp::create(builder, op->getLoc());
      pending.clear();
    }
    // An older access by the same operation stays.
    pending.insert({op, *access});
  }

  static void join(Pending &into, const Pending &from) {
    for (const auto &[op, access] : from) {
      auto [place, added] = into.insert({op, access});
      if (!added)
        place->second.current &= access.current;
    }
  }
  static bool same(const Pending &a, const Pending &b) {
    return a.size() == b.size() && llvm::all_of(a, [&](const auto &entry) {
             auto found = b.find(entry.first);
             return found != b.end() &&
                    found->second.current == entry.second.current;
           });
  }
  // What an iteration leaves to the next one.
  static Pending carried(Pending pending, Operation *loop) {
    for (auto &[op, access] : pending) {
      Region *region = access.pointer().getParentRegion();
      access.current &= !loop->isAncestor(region->getParentOp());
    }
    return pending;
  }

  void walk(Block &block, Pending &pending) {
    // Barriers are inserted before the operation that is visited.
    for (Operation &op : block) {
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        Pending other = pending;
        walk(branch.getThenRegion().front(), pending);
        if (!branch.getElseRegion().empty())
          walk(branch.getElseRegion().front(), other);
        join(pending, other);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        repeat(loop, pending, [&](Pending &state) {
          walk(*loop.getBody(), state);
          join(pending, state);
        });
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        Pending left;
        repeat(loop, pending, [&](Pending &state) {
          walk(*loop.getBeforeBody(), state);
          left = state;
          walk(*loop.getAfterBody(), state);
        });
        pending = left;
      } else {
        visit(&op, pending);
      }
    }
  }

  // Until an iteration begins with what some iteration leaves. States grow and
  // barriers stay, so this ends.
  void repeat(Operation *loop, const Pending &before,
              llvm::function_ref<void(Pending &)> body) {
    Pending start = before;
    for (;;) {
      Pending state = start;
      body(state);
      Pending next = start;
      join(next, carried(state, loop));
      if (same(next, start))
        return;
      start = next;
    }
  }

  PointerOrigins origins;
};

struct OrderMemoryPass
    : public PassWrapper<OrderMemoryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderMemoryPass)

  StringRef getArgument() const final { return "tessera-order-memory"; }
  StringRef getDescription() const final {
    return "Put barriers between accesses of a program that may meet";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<tile::TileDialect>();
  }
  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>())
      Ordering().run(function);
  }
};

} // namespace

std::unique_ptr<Pass> createOrderMemoryPass() {
  return std::make_unique<OrderMemoryPass>();
}

void registerOrderPasses() { PassRegistration<OrderMemoryPass>(); }

} // namespace tessera::codegen::gpu
