// codegen/gpu/memory/ScratchBarriers.cpp - barriers before scratch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A forward walk carries the parts of shared memory that a thread may have
// touched since the last barrier. An operation must wait if its scratch meets
// one of them; what is known at a loop's head only grows, so it stays so.
#include "codegen/gpu/memory/ScratchBarriers.h"

#include "codegen/analysis/ForwardWalk.h"
#include "codegen/analysis/MemoryModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;

namespace tessera::codegen::gpu {

namespace {

struct Touched {
  bool everything = false;
  std::set<std::pair<int64_t, int64_t>> parts; // first byte, end

  bool join(const Touched &other) {
    const bool hadEverything = everything;
    const size_t had = parts.size();
    everything |= other.everything;
    parts.insert(other.parts.begin(), other.parts.end());
    return everything != hadEverything || parts.size() != had;
  }
  bool meets(int64_t first, int64_t end) const {
    return everything || llvm::any_of(parts, [&](const auto &part) {
             return part.first < end && first < part.second;
           });
  }
};

class ScratchWalk : public ForwardWalk<Touched> {
public:
  explicit ScratchWalk(llvm::function_ref<int64_t(Operation *)> bytesOf)
      : bytesOf(bytesOf) {}

  llvm::SetVector<Operation *> waiting;

private:
  void visit(Operation *op, Touched &touched) final {
    MemoryBehavior behavior = memoryBehaviorOf(op);
    if (behavior.isBarrier)
      touched = {};
    touched.everything |= behavior.accessOf(MemorySpace::Shared).has_value();
    int64_t bytes = bytesOf(op);
    if (!bytes)
      return;
    int64_t first =
        op->getAttrOfType<IntegerAttr>(tile::kScratchOffsetAttr).getInt();
    const bool mayOmit = behavior.scratch == ScratchUse::MayOmitFirst;
    if (!mayOmit || touched.meets(first, first + bytes))
      waiting.insert(op);
    if (mayOmit)
      touched = {}; // by the barrier between writing and reading
    touched.parts.insert({first, first + bytes});
  }

  llvm::function_ref<int64_t(Operation *)> bytesOf;
};

} // namespace

void insertScratchBarriers(ModuleOp module,
                           llvm::function_ref<int64_t(Operation *)> bytesOf) {
  ScratchWalk walk(bytesOf);
  module.walk([&](func::FuncOp function) {
    Touched touched;
    for (Region &region : function->getRegions())
      for (Block &block : region)
        walk.walk(block, touched);
  });
  for (Operation *op : walk.waiting) {
    OpBuilder builder(op);
    tile::BarrierOp::create(builder, op->getLoc(), /*scratch=*/true);
  }
}

} // namespace tessera::codegen::gpu
