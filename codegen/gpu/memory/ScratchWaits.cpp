// codegen/gpu/memory/ScratchWaits.cpp - scratch without a barrier before it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A forward walk carries the parts of shared memory that a thread may have
// touched since the last barrier. An operation must wait if its scratch meets
// one of them. What is known at a loop's head only grows, so the last visit
// decides.
#include "codegen/gpu/memory/ScratchWaits.h"

#include "codegen/analysis/ForwardWalk.h"
#include "codegen/analysis/MemoryModel.h"
#include "codegen/gpu/kernel/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

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

class Waits : public ForwardWalk<Touched> {
public:
  explicit Waits(llvm::function_ref<int64_t(Operation *)> bytesOf)
      : bytesOf(bytesOf) {}

private:
  void visit(Operation *op, Touched &touched) final {
    MemoryBehavior behavior = memoryBehaviorOf(op);
    if (behavior.isBarrier)
      touched = {};
    touched.everything |= behavior.accessOf(MemorySpace::Shared).has_value();
    int64_t bytes = bytesOf(op);
    if (!bytes)
      return;
    int64_t first = op->getAttrOfType<IntegerAttr>(kScratchOffsetAttr).getInt();
    if (behavior.scratch == ScratchUse::MayOmitFirst) {
      if (touched.meets(first, first + bytes))
        op->removeAttr(kNoWaitAttr);
      else
        op->setAttr(kNoWaitAttr, UnitAttr::get(op->getContext()));
      touched = {};
    }
    touched.parts.insert({first, first + bytes});
  }

  llvm::function_ref<int64_t(Operation *)> bytesOf;
};

} // namespace

void markScratchWaits(ModuleOp module,
                      llvm::function_ref<int64_t(Operation *)> bytesOf) {
  module.walk([&](func::FuncOp function) {
    Touched touched;
    for (Region &region : function->getRegions())
      for (Block &block : region)
        Waits(bytesOf).walk(block, touched);
  });
}

} // namespace tessera::codegen::gpu
