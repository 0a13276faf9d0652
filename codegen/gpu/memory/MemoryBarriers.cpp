// codegen/gpu/memory/MemoryBarriers.cpp - inserts barriers between accesses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel author writes one thread of control; a GPU runs many threads. The
// pass traverses a function forward and keeps the accesses since the last
// barrier: those of global memory, and ranges of shared memory. It inserts a
// barrier before an access of global memory if another thread may have accessed
// the same address since then and one of the two accesses writes. Before an
// operation with scratch it inserts `barrier scratch` if the scratch overlaps
// shared memory that was accessed since the last barrier; before a dot, a sort
// and an atomic, always. It removes a barrier that has no access between itself
// and the last barrier, such as the second of two tiles that are staged:
//
//     before                     after
//     store p, x                 store p, x
//     y = load q  // q = p + 1   barrier          // y has elements of x
//     z = convert_layout y       y = load q
//     r = reduce z               z = convert_layout y
//                                barrier scratch  // r's scratch overlaps z's
//                                r = reduce z
#include "codegen/analysis/DisjointSpans.h"
#include "codegen/analysis/DistinctElements.h"
#include "codegen/analysis/ForwardWalk.h"
#include "codegen/analysis/LoopSteps.h"
#include "codegen/analysis/MemoryModel.h"
#include "codegen/analysis/PointerOrigins.h"
#include "codegen/gpu/memory/Scratch.h"
#include "codegen/gpu/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#include <limits>
#include <set>

#define DEBUG_TYPE "tessera-memory-barriers"

using namespace mlir;
using tessera::layout::Dim;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_MEMORYBARRIERSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// An access of global memory after the last barrier.
struct Pending {
  Operation *op;
  MemoryAccess access;
  // Release and acquire semantics with respect to other blocks (programs).
  bool releases = false, acquires = false;
  // True if the pointer operand still denotes the same addresses as at the
  // access: no loop whose body defines it has started another iteration since.
  bool current = true;
};

struct State {
  // Accesses since the last barrier, one per operation.
  llvm::MapVector<Operation *, Pending> pending;
  std::set<SharedPart> touched;

  bool meets(const SharedPart &part) const {
    return llvm::any_of(touched, [&](const SharedPart &other) {
      return other.first < part.second && part.first < other.second;
    });
  }
  bool join(const State &other) {
    const size_t had = touched.size();
    touched.insert(other.touched.begin(), other.touched.end());
    bool changed = touched.size() != had;
    for (const auto &[op, access] : other.pending) {
      auto [place, added] = pending.insert({op, access});
      changed |= added || (place->second.current && !access.current);
      place->second.current &= access.current;
    }
    return changed;
  }
};

// True if several threads hold an element of the type, or if the type has no
// layout.
bool isReplicated(Type type) {
  tile::LinearAttr attr = tile::layoutOf(type);
  if (!attr)
    return true;
  layout::LinearLayout layout = attr.layout();
  return layout.freeBits(Dim::Lane) || layout.freeBits(Dim::Warp);
}

// Returns the byte range of the accessed buffer, or all of shared memory if the
// buffer is unknown.
SharedPart partOf(const MemoryAccess &access) {
  tile::SmemAllocOp alloc =
      access.through ? sharedBufferOf(access.through) : nullptr;
  return (alloc ? sharedPartOf(alloc) : std::nullopt)
      .value_or(SharedPart(0, std::numeric_limits<int64_t>::max()));
}

// True for `tile.barrier scratch`, a mark for the next operation: the lowering
// of that operation emits a barrier before its first write to scratch.
bool isBeforeScratch(Operation *op) {
  auto barrier = dyn_cast_or_null<tile::BarrierOp>(op);
  return barrier && barrier.getScratch();
}

class BarrierInsertion : public ForwardWalk<State> {
public:
  bool inserted = false;
  // For each operation with scratch: whether its last visit found that it needs
  // a barrier.
  llvm::MapVector<Operation *, bool> waiting;
  // For each barrier: whether its last visit found no access since the last
  // barrier, or since the start of the function.
  llvm::MapVector<Operation *, bool> idle;

private:
  bool needsBarrier(const Pending &before, const Pending &next) {
    const MemoryAccess &a = before.access, &b = next.access;
    // Thread 0 executes all stores and atomics of a single address, in their
    // order.
    if (a.isScalar() && b.isScalar() && a.writes && b.writes)
      return false;
    // A release publishes the accesses of all threads, so all of these must be
    // complete. After an acquire, all threads must see what was published.
    if (next.releases || before.acquires)
      return true;
    if ((!a.writes && !b.writes) || a.commutesWith(b))
      return false;
    if (!origins.mayAlias(a.through, b.through))
      return false;
    if (before.current && b.through && haveDisjointSpans(a.through, b.through))
      return false;
    // The same operation in another iteration accesses other addresses if each
    // loop advances the tile by at least its size (LoopSteps.h).
    if (before.op == next.op && !b.atomic && b.through &&
        iterationsStayApart(next.op, b.through))
      return false;
    if (!b.through || !before.current || a.through != b.through ||
        isReplicated(b.through.getType()))
      return true;
    // With one pointer tensor and layout, each thread accesses its own elements
    // again, unless two elements have the same address.
    return !hasDistinctElements(b.through);
  }

  // Only an atomic acquires for other threads: a volatile load orders the
  // accesses of the same thread.
  static Pending pendingOf(Operation *op, const MemoryBehavior &behavior,
                           const MemoryAccess &access, bool current = true) {
    return {op, access, behavior.releases, behavior.acquires && access.atomic,
            current};
  }

  void visit(Operation *op, State &state) final {
    MemoryBehavior behavior = memoryBehaviorOf(op);
    // A `tile.barrier scratch` belongs to the next operation, which resets the
    // state below.
    if (behavior.isBarrier && !isBeforeScratch(op)) {
      if (isa<tile::BarrierOp>(op))
        idle[op] = state.pending.empty() && state.touched.empty();
      state = {};
    }
    if (auto access = behavior.accessOf(MemorySpace::Global)) {
      const Pending next = pendingOf(op, behavior, *access);
      auto *met = llvm::find_if(state.pending, [&](const auto &entry) {
        return needsBarrier(entry.second, next);
      });
      if (met != state.pending.end()) {
        LDBG() << "barrier before " << op->getName() << " at " << op->getLoc()
               << " to order it after " << met->first->getName() << " at "
               << met->first->getLoc();
        OpBuilder builder(op);
        tile::BarrierOp::create(builder, op->getLoc());
        inserted = true;
        state = {};
      }
    }
    auto scratch = sharedPartOf(op);
    if (scratch && !isa<tile::SmemAllocOp>(op)) {
      const bool waits =
          behavior.scratch == ScratchUse::Waits || state.meets(*scratch);
      waiting[op] = waits;
      // The lowering of the operation contains a barrier after all earlier
      // accesses: this one, or the one between writing and reading.
      if (waits || !op->hasAttr(kScratchOfWarpAttr))
        state = {};
      state.touched.insert(*scratch);
    }
    // The barrier of an atomic with scratch also follows its access, which is
    // therefore not pending. Accesses of other operations may come after their
    // barrier, so they are.
    if (!scratch || !isAtomic(behavior))
      add(op, behavior, state);
    // After the wait, a thread may read only what it copied itself, so the
    // copies become accesses that other threads must wait for. A copy may be
    // from an earlier iteration, so its pointer is not `current`.
    if (auto wait = dyn_cast<tile::AsyncWaitOp>(op))
      for (Operation *copy : awaitedCopies(wait))
        add(copy, memoryBehaviorOf(copy), state, /*current=*/false);
  }

  static void add(Operation *op, const MemoryBehavior &behavior, State &state,
                  bool current = true) {
    for (const MemoryAccess &access : behavior.accesses)
      if (access.space == MemorySpace::Shared)
        state.touched.insert(partOf(access));
      else // insert() keeps an older access by the same operation.
        state.pending.insert({op, pendingOf(op, behavior, access, current)});
  }

  static bool isAtomic(const MemoryBehavior &behavior) {
    auto access = behavior.accessOf(MemorySpace::Global);
    return access && access->atomic;
  }

  // Marks pointers that the loop computes: each iteration has a new value.
  void carry(State &state, Operation *loop) final {
    for (auto &[op, pending] : state.pending) {
      Value pointer = pending.access.through;
      pending.current &=
          pointer &&
          !loop->isAncestor(pointer.getParentRegion()->getParentOp());
    }
  }

  PointerOrigins origins;
};

struct MemoryBarriersPass
    : public impl::MemoryBarriersPassBase<MemoryBarriersPass> {
  using Base::Base;

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>())
      while (insertBarriers(function))
        ;
  }

  // Returns true if it inserted barriers between global accesses. An operation
  // with scratch may then need no barrier, so the caller repeats the traversal.
  // This terminates, because an access directly after a barrier needs none.
  static bool insertBarriers(func::FuncOp function) {
    BarrierInsertion insertion;
    State state;
    for (Block &block : function.getBody())
      insertion.walk(block, state);
    if (insertion.inserted)
      return true;
    for (auto [op, isIdle] : insertion.idle)
      if (isIdle) {
        LDBG() << "barrier removed at " << op->getLoc();
        op->erase();
      }
    for (auto [op, waits] : insertion.waiting) {
      LDBG() << (waits ? "" : "no ") << "scratch barrier before "
             << op->getName() << " at " << op->getLoc();
      if (waits && !isBeforeScratch(op->getPrevNode())) {
        OpBuilder builder(op);
        tile::BarrierOp::create(builder, op->getLoc(), /*scratch=*/true);
      }
    }
    return false;
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
