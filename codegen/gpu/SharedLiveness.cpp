// codegen/gpu/SharedLiveness.cpp - when shared memory holds something.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/SharedLiveness.h"

#include "codegen/gpu/lower/SmemTile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <algorithm>

using namespace mlir;

namespace tessera::codegen::gpu {

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
    LiveRange range{next, 0};
    SmallVector<Value> views = {alloc.getResult()};
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers()) {
        if (isa<tile::SmemIndexOp, tile::SmemTransOp>(user)) {
          views.push_back(user->getResult(0));
          continue;
        }
        // What a dot reads itself is read as late as there.
        if (auto load = dyn_cast<tile::SmemLoadOp>(user))
          if (loadInDot(load))
            user = *load->getUsers().begin();
        // What one round leaves, the next one may find.
        Operation *whole = user;
        for (Operation *parent = user->getParentOp();
             !isa<func::FuncOp>(parent); parent = parent->getParentOp())
          if (isa<LoopLikeOpInterface>(parent))
            whole = parent;
        range.first = std::min(range.first, extents[whole].first);
        range.last = std::max(range.last, extents[whole].last);
      }
    if (range.first <= range.last)
      result.buffers[alloc] = range;
  });
  return result;
}

} // namespace tessera::codegen::gpu
