// codegen/gpu/ScratchWaits.cpp - which scratch may be written without waiting.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Forward over the structured control flow: the parts of shared memory that a
// thread may have touched since the last barrier. An operation must wait if its
// scratch meets one of them. What is known at a loop's head only grows, so the
// last walk over the body decides.
#include "codegen/gpu/ScratchWaits.h"

#include "codegen/gpu/Lower.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>

using namespace mlir;

namespace tessera::codegen::gpu {

bool mayWriteUnasked(Operation *op) {
  return isa<tile::ReduceOp, tile::ReduceByOp, tile::ScanOp, tile::ScanByOp,
             tile::GatherOp, tile::HistogramOp>(op);
}

namespace {

struct Touched {
  bool everything = false;
  std::set<std::pair<int64_t, int64_t>> parts; // first byte, end

  bool operator==(const Touched &) const = default;
  void add(const Touched &other) {
    everything |= other.everything;
    parts.insert(other.parts.begin(), other.parts.end());
  }
  bool meets(int64_t first, int64_t end) const {
    return everything || llvm::any_of(parts, [&](const auto &part) {
             return part.first < end && first < part.second;
           });
  }
};

class Waits {
public:
  explicit Waits(llvm::function_ref<int64_t(Operation *)> bytesOf)
      : bytesOf(bytesOf) {}

  void block(Block &block, Touched &so) {
    for (Operation &op : block)
      visit(&op, so);
  }

private:
  void loop(Touched &so, llvm::function_ref<void(Touched &)> body) {
    while (true) {
      Touched end = so;
      body(end);
      Touched head = so;
      head.add(end);
      if (head == so)
        break;
      so = std::move(head);
    }
  }

  void visit(Operation *op, Touched &so) {
    if (auto each = dyn_cast<scf::ForOp>(op))
      return loop(so, [&](Touched &at) { block(*each.getBody(), at); });
    if (auto each = dyn_cast<scf::WhileOp>(op)) {
      Touched after;
      loop(so, [&](Touched &at) {
        block(*each.getBeforeBody(), at);
        after = at;
        block(*each.getAfterBody(), at);
      });
      so = std::move(after);
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Touched other = so;
      block(branch.getThenRegion().front(), so);
      if (!branch.getElseRegion().empty())
        block(branch.getElseRegion().front(), other);
      so.add(other);
      return;
    }
    if (isa<tile::BarrierOp>(op)) {
      so = {};
      return;
    }
    auto isBuffer = [](Type type) { return isa<tile::SmemType>(type); };
    // A dot may read a buffer in place of the load before it.
    if (isa<tile::DotOp>(op) || llvm::any_of(op->getOperandTypes(), isBuffer) ||
        llvm::any_of(op->getResultTypes(), isBuffer))
      so.everything = true;
    int64_t bytes = bytesOf(op);
    if (!bytes)
      return;
    int64_t first = op->getAttrOfType<IntegerAttr>(kScratchOffsetAttr).getInt();
    if (mayWriteUnasked(op)) {
      if (so.meets(first, first + bytes))
        op->removeAttr(kNoWaitAttr);
      else
        op->setAttr(kNoWaitAttr, UnitAttr::get(op->getContext()));
      so = {};
    }
    so.parts.insert({first, first + bytes});
  }

  llvm::function_ref<int64_t(Operation *)> bytesOf;
};

} // namespace

void markScratchWaits(ModuleOp module,
                      llvm::function_ref<int64_t(Operation *)> bytesOf) {
  module.walk([&](func::FuncOp function) {
    Touched so;
    for (Region &region : function->getRegions())
      for (Block &block : region)
        Waits(bytesOf).block(block, so);
  });
}

} // namespace tessera::codegen::gpu
