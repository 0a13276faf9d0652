// codegen/gpu/memory/MemoryBarriers.cpp - where threads wait for one another.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A forward walk carries what a thread may have touched since the last barrier:
// accesses of global memory, parts of shared memory.
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

// An access of global memory that no barrier has followed yet.
struct Pending {
  Operation *op;
  MemoryAccess access;
  // It tells other programs what this one did before it, or this program what
  // others did.
  bool releases = false, acquires = false;
  // The value of the pointer is that of the same SSA value now: no iteration of
  // a loop that computes it has begun since.
  bool current = true;
};

struct State {
  // One access an operation: few, since the last barrier.
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

// Whether several threads have the same element.
bool isReplicated(Type type) {
  tile::LinearAttr attr = tile::layoutOf(type);
  if (!attr)
    return true;
  layout::LinearLayout layout = attr.layout();
  return layout.freeBits(Dim::Lane) || layout.freeBits(Dim::Warp);
}

// The buffer's place; all of shared memory where it is not known.
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
  // Operations with scratch, and whether they must wait, by the last visit.
  llvm::MapVector<Operation *, bool> waiting;

private:
  bool needsBarrier(const Pending &before, const Pending &next) {
    const MemoryAccess &a = before.access, &b = next.access;
    // Both are done by thread 0.
    if (a.isScalar() && b.isScalar() && a.writes && b.writes)
      return false;
    // Another program must see what every thread did before the release, and
    // every thread what was released to one that acquires.
    if (next.releases || before.acquires)
      return true;
    if ((!a.writes && !b.writes) || a.commutesWith(b))
      return false;
    if (!origins.mayAlias(a.through, b.through))
      return false;
    // The next tile of an output.
    if (before.op == next.op && !b.atomic && b.through &&
        iterationsStayApart(next.op, b.through))
      return false;
    if (!b.through || !before.current || a.through != b.through ||
        isReplicated(b.through.getType()))
      return true;
    // An element stays with its thread, unless another thread has one of the
    // same address.
    return !hasDistinctElements(b.through);
  }

  // A volatile load orders what its own thread does.
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
      // All threads meet before it writes there, or behind it.
      state = {};
      state.touched.insert(*scratch);
    }
    // The barriers of an atomic's scratch come after the atomic itself.
    if (!scratch || !isAtomic(behavior))
      add(op, behavior, state);
    // Other threads may not have waited yet, and the pointer may be that of an
    // earlier iteration.
    if (auto wait = dyn_cast<tile::AsyncWaitOp>(op))
      for (Operation *copy : awaitedCopies(wait))
        add(copy, memoryBehaviorOf(copy), state, /*current=*/false);
  }

  static void add(Operation *op, const MemoryBehavior &behavior, State &state,
                  bool current = true) {
    for (const MemoryAccess &access : behavior.accesses)
      if (access.space == MemorySpace::Shared)
        state.touched.insert(partOf(access));
      else // An older access by the same operation stays.
        state.pending.insert({op, pendingOf(op, behavior, access, current)});
  }

  static bool isAtomic(const MemoryBehavior &behavior) {
    auto access = behavior.accessOf(MemorySpace::Global);
    return access && access->atomic;
  }

  // A pointer that the loop computes has another value in the next iteration.
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

  // Whether there are more than before: then fewer may do before scratch.
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
