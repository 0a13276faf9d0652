// codegen/analysis/MemoryModel.cpp - the memory behavior of each operation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/MemoryModel.h"

#include "codegen/analysis/PointerOrigins.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen {

using Behavior = std::optional<MemoryBehavior>;

static MemoryAccess readOf(MemorySpace space, Value through) {
  return {.space = space, .through = through, .reads = true};
}
static MemoryAccess writeOf(MemorySpace space, Value through) {
  return {.space = space, .through = through, .writes = true};
}

static MemoryBehavior only(MemoryAccess access) {
  MemoryBehavior behavior;
  behavior.accesses = {access};
  return behavior;
}

static MemoryBehavior withScratch(ScratchUse use) {
  MemoryBehavior behavior;
  behavior.scratch = use;
  return behavior;
}

// Returns MemoryAccess::accumulates of an atomic. The result in memory of an
// exchange depends on the order, so it does not accumulate.
static std::optional<tile::AtomicKind> accumulatedBy(tile::AtomicRMWOp op) {
  if (!op->use_empty() || op.getKind() == tile::AtomicKind::Xchg)
    return std::nullopt;
  return op.getKind();
}
static std::optional<tile::AtomicKind> accumulatedBy(tile::AtomicCASOp) {
  return std::nullopt;
}

// Returns the behavior of an atomic. It may need scratch to pass the old
// element of a scalar, or of an element that several threads hold, to them.
template <typename Atomic>
static Behavior atomicBehavior(Atomic op) {
  MemoryAccess access = readOf(MemorySpace::Global, op.getPtr());
  access.writes = access.atomic = true;
  access.accumulates = accumulatedBy(op);
  MemoryBehavior behavior = only(access);
  tile::MemSemantic sem = op.getSem();
  bool both = sem == tile::MemSemantic::AcqRel;
  behavior.releases = both || sem == tile::MemSemantic::Release;
  behavior.acquires =
      (both || sem == tile::MemSemantic::Acquire) && !op->use_empty();
  behavior.scratch = ScratchUse::Waits;
  return behavior;
}

static Behavior loadBehavior(tile::LoadOp op) {
  MemoryBehavior behavior = only(readOf(MemorySpace::Global, op.getPtr()));
  behavior.acquires = op.getIsVolatile();
  return behavior;
}

static Behavior storeBehavior(tile::StoreOp op) {
  return only(writeOf(MemorySpace::Global, op.getPtr()));
}

static Behavior copyBehavior(tile::AsyncCopyOp op) {
  MemoryBehavior behavior;
  behavior.accesses = {readOf(MemorySpace::Global, op.getPtr()),
                       writeOf(MemorySpace::Shared, op.getDst())};
  for (MemoryAccess &access : behavior.accesses) {
    access.proxy = Proxy::Async;
    access.completion = Completion::AtWait;
  }
  return behavior;
}

static tile::SmemLoadOp loadOf(Value value) {
  return value.getDefiningOp<tile::SmemLoadOp>();
}

static Behavior smemLoadBehavior(tile::SmemLoadOp op) {
  MemoryAccess access = readOf(MemorySpace::Shared, op.getSrc());
  if (loadReadByDot(op.getResult()))
    access.completion = Completion::AtDot;
  return only(access);
}

static Behavior dotBehavior(tile::DotOp op) {
  MemoryBehavior behavior = withScratch(ScratchUse::Waits);
  for (Value operand : {op.getA(), op.getB()})
    if (tile::SmemLoadOp load = loadReadByDot(operand))
      behavior.accesses.push_back(readOf(MemorySpace::Shared, load.getSrc()));
  return behavior;
}

static Behavior waitBehavior(AsyncRole role) {
  MemoryBehavior behavior;
  behavior.async = role;
  return behavior;
}

// Returns the behavior of an operation of the tile dialect. Operations without
// memory accesses are listed too, so that MemoryModelTest detects a new
// operation without an entry.
static Behavior entryOf(Operation *op) {
  using namespace tile;
  return llvm::TypeSwitch<Operation *, Behavior>(op)
      .Case([](LoadOp load) { return loadBehavior(load); })
      .Case([](StoreOp store) { return storeBehavior(store); })
      .Case([](AtomicRMWOp atomic) { return atomicBehavior(atomic); })
      .Case([](AtomicCASOp atomic) { return atomicBehavior(atomic); })
      .Case([](AsyncCopyOp copy) { return copyBehavior(copy); })
      .Case([](SmemLoadOp load) { return smemLoadBehavior(load); })
      .Case([](SmemStoreOp store) {
        return only(writeOf(MemorySpace::Shared, store.getDst()));
      })
      .Case([](AsyncCommitOp) { return waitBehavior(AsyncRole::Commits); })
      .Case([](AsyncWaitOp) { return waitBehavior(AsyncRole::Waits); })
      .Case([](BarrierOp) {
        MemoryBehavior behavior;
        behavior.isBarrier = true;
        return behavior;
      })
      .Case([](DotOp dot) { return dotBehavior(dot); })
      .Case<ConvertLayoutOp, ReduceOp, ReduceByOp, ScanOp, ScanByOp, GatherOp,
            HistogramOp>(
          [](Operation *) { return withScratch(ScratchUse::MayOmitFirst); })
      .Case([](SortOp) { return withScratch(ScratchUse::Waits); })
      .Case<PrintOp, AssertOp>([](Operation *) {
        MemoryBehavior behavior;
        behavior.writesLog = true;
        return behavior;
      })
      .Case<AssumeOp, SmemAllocOp, SmemIndexOp, SmemTransOp, AsyncDoneOp,
            BitcastOp, ConvertOp, YieldOp, AddPtrOp, ProgramIdOp, NumProgramsOp,
            RangeOp, SplatOp, ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp,
            JoinOp, SplitOp>([](Operation *) { return MemoryBehavior(); })
      .Default([](Operation *) { return std::nullopt; });
}

bool hasMemoryEntry(Operation *op) { return entryOf(op).has_value(); }

MemoryBehavior memoryBehaviorOf(Operation *op) {
  if (Behavior known = entryOf(op))
    return *known;
  if (auto own = dyn_cast<DescribesMemory>(op))
    return own.memoryBehavior();
  MemoryBehavior behavior;
  if (op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() ||
      isMemoryEffectFree(op))
    return behavior;
  for (MemorySpace space : {MemorySpace::Global, MemorySpace::Shared}) {
    MemoryAccess access = readOf(space, Value());
    access.writes = true;
    behavior.accesses.push_back(access);
  }
  return behavior;
}

std::optional<MemoryAccess> MemoryBehavior::accessOf(MemorySpace space) const {
  for (const MemoryAccess &access : accesses)
    if (access.space == space)
      return access;
  return std::nullopt;
}

bool MemoryAccess::commutesWith(const MemoryAccess &other) const {
  assert((!accumulates || through) && "an atomic goes through a pointer");
  // Atomics of different widths do not commute: a carry of one may change an
  // element of the other.
  return accumulates && accumulates == other.accumulates &&
         tile::elementType(through.getType()) ==
             tile::elementType(other.through.getType());
}

bool MemoryBehavior::writes() const {
  return writesLog || llvm::any_of(accesses, [](const MemoryAccess &access) {
           return access.writes;
         });
}

std::optional<MemoryAccess> globalWriteOf(Operation *op) {
  auto access = memoryBehaviorOf(op).accessOf(MemorySpace::Global);
  return access && access->writes ? access : std::nullopt;
}

llvm::SetVector<Operation *> tokenSources(ValueRange tokens) {
  llvm::SetVector<Operation *> sources;
  llvm::SmallPtrSet<Value, 8> seen;
  SmallVector<Value> work(tokens);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    auto incoming = incomingValues(value);
    if (incoming.empty() && !value.getDefiningOp<tile::AsyncDoneOp>())
      sources.insert(value.getDefiningOp());
    llvm::append_range(work, incoming);
  }
  return sources;
}

llvm::SetVector<Operation *> awaitedCopies(tile::AsyncWaitOp wait) {
  assert(wait && "no wait whose copies to look for");
  llvm::SetVector<Operation *> copies;
  for (Operation *source : tokenSources(wait.getGroups()))
    if (auto commit = dyn_cast_or_null<tile::AsyncCommitOp>(source))
      for (Operation *copy : tokenSources(commit.getCopies()))
        if (copy)
          copies.insert(copy);
  return copies;
}

// True if a read of shared memory must not move down across `op`.
static bool holdsReads(Operation *op) {
  // Loads and dots only read. memoryBehaviorOf would recurse: it calls
  // loadReadByDot for them.
  if (isa<tile::SmemLoadOp, tile::DotOp>(op))
    return false;
  // A scratch barrier orders the next operation's scratch. The scratch does not
  // overlap a buffer that the dot has yet to read.
  if (auto barrier = dyn_cast<tile::BarrierOp>(op);
      barrier && barrier.getScratch())
    return false;
  if (op->getNumRegions())
    return true;
  MemoryBehavior behavior = memoryBehaviorOf(op);
  return behavior.writes() || behavior.isBarrier ||
         behavior.async != AsyncRole::None;
}

tile::SmemLoadOp loadReadByDot(Value operand) {
  tile::SmemLoadOp load = loadOf(operand);
  if (!load || !operand.hasOneUse())
    return {};
  Operation *user = *operand.getUsers().begin();
  if (!isa<tile::DotOp>(user) || user->getBlock() != load->getBlock())
    return {};
  for (Operation *op = load->getNextNode(); op != user; op = op->getNextNode())
    if (holdsReads(op))
      return {};
  return load;
}

} // namespace tessera::codegen

#include "codegen/analysis/DescribesMemory.cpp.inc"
