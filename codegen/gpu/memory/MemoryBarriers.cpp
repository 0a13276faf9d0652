// codegen/gpu/memory/MemoryBarriers.cpp - barriers of global memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/ForwardWalk.h"
#include "codegen/analysis/MemoryModel.h"
#include "codegen/analysis/PointerOrigins.h"
#include "codegen/gpu/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

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
  // The value of the pointer is that of the same SSA value now: no iteration of
  // a loop that computes it has begun since.
  bool current = true;
};

// One access an operation: few, since the last barrier.
struct State {
  llvm::MapVector<Operation *, Pending> pending;

  bool join(const State &other) {
    bool changed = false;
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

class BarrierInsertion : public ForwardWalk<State> {
  bool needsBarrier(const Pending &before, const Pending &next,
                    bool nextReleases) {
    const MemoryAccess &a = before.access, &b = next.access;
    // Both are done by thread 0.
    if (a.isScalar() && b.isScalar() && a.writes && b.writes)
      return false;
    if (nextReleases && !a.atomic && (b.isScalar() || a.writes))
      return true;
    if ((!a.writes && !b.writes) || (a.atomic && b.atomic))
      return false;
    if (!origins.mayAlias(a.through, b.through))
      return false;
    // The next tile of an output.
    if (before.op == next.op && isComputedAddress(b.through))
      return false;
    if (!b.through || !before.current || a.through != b.through ||
        isReplicated(b.through.getType()))
      return true;
    // Pointers that were looked up may be equal in several threads: all of them
    // load before one stores.
    return !a.writes && !isComputedAddress(b.through);
  }

  void visit(Operation *op, State &state) final {
    MemoryBehavior behavior = memoryBehaviorOf(op);
    if (behavior.isBarrier)
      state.pending.clear();
    auto access = behavior.accessOf(MemorySpace::Global);
    if (!access)
      return;
    const Pending next{op, *access};
    if (llvm::any_of(state.pending, [&](const auto &entry) {
          return needsBarrier(entry.second, next, behavior.releases);
        })) {
      OpBuilder builder(op);
      tile::BarrierOp::create(builder, op->getLoc());
      state.pending.clear();
    }
    // An older access by the same operation stays.
    state.pending.insert({op, next});
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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      BarrierInsertion insertion;
      State state;
      for (Block &block : function.getBody())
        insertion.walk(block, state);
    }
  }
};

} // namespace

} // namespace tessera::codegen::gpu
