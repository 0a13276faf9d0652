// codegen/gpu/memory/SharedLiveness.cpp - live ranges of shared memory buffers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/memory/SharedLiveness.h"

#include "codegen/analysis/MemoryModel.h"
#include "codegen/analysis/PointerOrigins.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <algorithm>
#include <cassert>

using namespace mlir;

namespace tessera::codegen::gpu {

// Returns a block in which no use reads data of an earlier execution of the
// block: that of the allocation, unless it is the function's, or one that
// writes the buffer before all other uses. Returns null without such a block.
static Block *filledIn(tile::SmemAllocOp alloc, ArrayRef<Operation *> users) {
  if (!isa<func::FuncOp>(alloc->getParentOp()))
    return alloc->getBlock();
  for (Operation *writer : alloc->getUsers()) {
    auto access = memoryBehaviorOf(writer).accessOf(MemorySpace::Shared);
    if (!access || !access->writes)
      continue;
    Block *block = writer->getBlock();
    if (llvm::all_of(users, [&](Operation *user) {
          Operation *here = block->findAncestorOpInBlock(*user);
          return here && (here == writer || writer->isBeforeInBlock(here));
        }))
      return block;
  }
  return nullptr;
}

// Returns the operation at which the access of `user` completes. An
// asynchronous copy counts as `user` itself: the readers of the buffer come
// after its wait.
static Operation *completionOf(Operation *user) {
  auto access = memoryBehaviorOf(user).accessOf(MemorySpace::Shared);
  return access && access->completion == Completion::AtDot
             ? *user->getUsers().begin()
             : user;
}

SharedLiveness sharedLiveness(ModuleOp module) {
  SharedLiveness result;
  llvm::DenseMap<Operation *, LiveRange> extents;
  int64_t next = 0;
  module.walk([&](Operation *op, const WalkStage &stage) {
    if (stage.isBeforeAllRegions()) {
      result.numbers[op] = next;
      extents[op].first = next++;
    }
    if (stage.isAfterAllRegions())
      extents[op].last = next - 1;
  });
  module.walk([&](tile::SmemAllocOp alloc) {
    SmallVector<Operation *> users = usersOfBuffer(alloc);
    for (Operation *&user : users)
      user = completionOf(user);
    LiveRange range{next, 0};
    Block *block = filledIn(alloc, users);
    for (Operation *user : users) {
      Operation *whole = block ? block->findAncestorOpInBlock(*user) : user;
      // The next iteration may read data that this iteration has written.
      if (!block)
        for (Operation *parent = user->getParentOp();
             !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
          assert(parent->getParentOp() && "buffers are used in functions");
          if (isa<LoopLikeOpInterface>(parent))
            whole = parent;
        }
      range.first = std::min(range.first, extents[whole].first);
      range.last = std::max(range.last, extents[whole].last);
    }
    if (range.first <= range.last)
      result.buffers[alloc] = range;
  });
  return result;
}

} // namespace tessera::codegen::gpu
