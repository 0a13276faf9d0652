// codegen/gpu/memory/MemoryBarriers.cpp - inserts barriers between accesses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A forward traversal carries the accesses since the last barrier: accesses of
// global memory, and ranges of shared memory. The pass inserts a barrier before
// an access that may touch the same element from another thread:
//
//     store p, x                        store p, x
//     y = load q      // q = p + 1      barrier
//     z = convert_layout y              y = load q
//     w = convert_layout z              z = convert_layout y
//                                       barrier scratch  // same scratch memory
//                                       w = convert_layout z
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
  // True if the pointer's SSA value still has the value that the access used:
  // no loop that computes it has started another iteration since.
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

// True if the layout gives an element to several threads, or has no layout.
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

bool isBeforeScratch(Operation *op) {
  auto barrier = dyn_cast_or_null<tile::BarrierOp>(op);
  return barrier && barrier.getScratch();
}

class BarrierInsertion : public ForwardWalk<State> {
public:
  bool inserted = false;
  // Operations with scratch, and whether each needs a barrier before it, from
  // its last visit.
  llvm::MapVector<Operation *, bool> waiting;

private:
  bool needsBarrier(const Pending &before, const Pending &next) {
    const MemoryAccess &a = before.access, &b = next.access;
    // Thread 0 does both.
    if (a.isScalar() && b.isScalar() && a.writes && b.writes)
      return false;
    // A release publishes the accesses of all threads, so all must have done
    // theirs. After an acquire, all threads must see what was published.
    if (next.releases || before.acquires)
      return true;
    if ((!a.writes && !b.writes) || a.commutesWith(b))
      return false;
    if (!origins.mayAlias(a.through, b.through))
      return false;
    // A store of another iteration writes another tile.
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
    if (behavior.isBarrier && !isBeforeScratch(op))
      state = {};
    if (auto access = behavior.accessOf(MemorySpace::Global)) {
      const Pending next = pendingOf(op, behavior, *access);
      auto *met = llvm::find_if(state.pending, [&](const auto &entry) {
        return needsBarrier(entry.second, next);
      });
      if (met != state.pending.end()) {
        LDBG() << "barrier before " << op->getName() << " at " << op->getLoc()
               << ", which may meet " << met->first->getName() << " at "
               << met->first->getLoc();
        OpBuilder builder(op);
        tile::BarrierOp::create(builder, op->getLoc());
        inserted = true;
        state = {};
      }
    }
    auto scratch = sharedPartOf(op);
    if (scratch && !isa<tile::SmemAllocOp>(op)) {
      waiting[op] =
          behavior.scratch != ScratchUse::MayOmitFirst || state.meets(*scratch);
      // The barriers of the operation order all accesses before it.
      state = {};
      state.touched.insert(*scratch);
    }
    // An atomic with scratch is not added: its barriers come after the atomic.
    // Other accesses stay pending.
    if (!scratch || !isAtomic(behavior))
      add(op, behavior, state);
    // After the wait, the copies are complete for this thread only. Their
    // pointers may have values of an earlier iteration.
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

  // Returns true if it inserted barriers between global accesses. Scratch may
  // then need fewer barriers, so the caller starts another traversal.
  static bool insertBarriers(func::FuncOp function) {
    BarrierInsertion insertion;
    State state;
    for (Block &block : function.getBody())
      insertion.walk(block, state);
    if (insertion.inserted)
      return true;
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
