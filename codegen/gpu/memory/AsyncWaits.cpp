// codegen/gpu/memory/AsyncWaits.cpp - computes N of each cp.async.wait_group N.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tile.async_wait names the groups that must be complete. The hardware can
// only wait until at most N groups are incomplete, the youngest ones. The pass
// counts, on all paths to a wait, the commits after each group that it names:
//
//     a = async_commit
//     b = async_commit
//     async_wait a        // leaving 1: only b was committed after a
//     async_wait b        // leaving 0
#include "codegen/analysis/ForwardWalk.h"
#include "codegen/analysis/MemoryModel.h"
#include "codegen/analysis/PointerOrigins.h"
#include "codegen/gpu/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-async-waits"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_ASYNCWAITSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// Count of `tile.async_done` and of groups with many commits after them. It is
// larger than the number of groups that are ever incomplete.
constexpr int64_t kMostLeft = 63;

struct UnderWay {
  // Per group, the least number of groups committed after it on any path.
  llvm::DenseMap<Value, int64_t> younger;
  llvm::SmallPtrSet<Operation *, 4> open; // copies that no commit follows yet

  bool join(const UnderWay &other) {
    bool changed = false;
    for (auto [group, count] : other.younger) {
      auto [place, added] = younger.try_emplace(group, count);
      changed |= added || count < place->second;
      place->second = std::min(place->second, count);
    }
    for (Operation *copy : other.open)
      changed |= open.insert(copy).second;
    return changed;
  }
};

// Returns the shared memory access of `op` if `op` is an asynchronous copy,
// which completes at a wait.
std::optional<MemoryAccess> copyOf(Operation *op) {
  auto access = memoryBehaviorOf(op).accessOf(MemorySpace::Shared);
  return access && access->completion == Completion::AtWait ? access
                                                            : std::nullopt;
}

class Waits : public ForwardWalk<UnderWay> {
public:
  // For each commit, an error text or null, from its last visit.
  llvm::MapVector<Operation *, const char *> wrong;

private:
  void visit(Operation *op, UnderWay &state) final {
    if (copyOf(op))
      state.open.insert(op);
    if (auto commit = dyn_cast<tile::AsyncCommitOp>(op))
      visitCommit(commit, state);
    if (auto done = dyn_cast<tile::AsyncDoneOp>(op))
      state.younger[done] = kMostLeft;
    if (auto wait = dyn_cast<tile::AsyncWaitOp>(op)) {
      int64_t left = kMostLeft;
      for (Value group : wait.getGroups())
        left = std::min(left, state.younger.lookup(group));
      wait.setLeaving(left);
    }
  }

  // In PTX, a commit puts every copy since the previous commit into its group.
  void visitCommit(tile::AsyncCommitOp commit, UnderWay &state) {
    auto copies = tokenSources(commit.getCopies());
    const char *&text = wrong[commit] = nullptr;
    for (Operation *copy : state.open)
      if (!copies.contains(copy))
        text = "leaves out a copy that is under way";
    for (Operation *copy : copies)
      if (!state.open.contains(copy))
        text = "takes a token that is of no copy of its own";
    state.open.clear();
    for (auto &entry : state.younger)
      entry.second = std::min(entry.second + 1, kMostLeft);
    state.younger[commit.getGroup()] = 0;
  }

  void hand(ValueRange from, ValueRange to, UnderWay &state) final {
    SmallVector<std::pair<Value, int64_t>> handed;
    for (auto [value, target] : llvm::zip(from, to))
      if (auto found = state.younger.find(value); found != state.younger.end())
        handed.push_back({target, found->second});
    for (auto [value, count] : handed)
      state.younger[value] = count;
  }
};

// True if `op` may run after `first`.
bool mayFollow(Operation *first, Operation *op) {
  for (Operation *at = first; at->getBlock(); at = at->getParentOp()) {
    if (Operation *there = at->getBlock()->findAncestorOpInBlock(*op))
      if (at->isBeforeInBlock(there))
        return true;
    Operation *parent = at->getParentOp();
    if (isa<LoopLikeOpInterface>(parent) && parent->isAncestor(op))
      return true;
  }
  return false;
}

// Returns a read of the buffer that may follow the copy `op`; null if none.
Operation *readerOf(Operation *op) {
  if (tile::SmemAllocOp alloc = sharedBufferOf(copyOf(op)->through))
    for (Operation *user : usersOfBuffer(alloc))
      if (isa<tile::SmemLoadOp>(user) && mayFollow(op, user))
        return user;
  return nullptr;
}

LogicalResult verifyTokens(func::FuncOp function) {
  bool right = true;
  llvm::SetVector<Operation *> awaited;
  function.walk([&](tile::AsyncWaitOp wait) {
    awaited.insert_range(awaitedCopies(wait));
    for (Operation *source : tokenSources(wait.getGroups()))
      if (!isa_and_nonnull<tile::AsyncCommitOp>(source)) {
        right = false;
        wait.emitOpError("waits for an operand that is not a group of copies");
      }
  });
  function.walk([&](Operation *op) {
    Operation *reader =
        copyOf(op) && !awaited.contains(op) ? readerOf(op) : nullptr;
    if (!reader)
      return;
    right = false;
    op->emitOpError("is not awaited by any operation")
            .attachNote(reader->getLoc())
        << "what it copies is read here";
  });
  return success(right);
}

struct AsyncWaitsPass : public impl::AsyncWaitsPassBase<AsyncWaitsPass> {
  using Base::Base;

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Waits waits;
      UnderWay state;
      for (Block &block : function.getBody())
        waits.walk(block, state);
      LLVM_DEBUG(function.walk([](tile::AsyncWaitOp wait) {
        LDBG() << "wait at " << wait.getLoc() << " leaves " << wait.getLeaving()
               << " groups under way";
      }));
      if (failed(verifyTokens(function)))
        signalPassFailure();
      for (auto [commit, text] : waits.wrong)
        if (text) {
          commit->emitOpError(text);
          signalPassFailure();
        }
    }
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
