// codegen/gpu/memory/SharedLiveness.cpp - when shared memory holds something.
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

// The block that fills the whole buffer anew each time before it reads it: what
// an earlier iteration left there nobody looks at. Null when there is none.
static Block *filledIn(tile::SmemAllocOp alloc, ArrayRef<Operation *> users) {
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

// The operation with which the access of `user` is done. (A copy is done with
// a wait; the buffer's readers stand behind it.)
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
      // What one iteration leaves, the next one may find.
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
