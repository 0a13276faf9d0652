// codegen/gpu/masks/GuardMasks.cpp - branches around masks that are all true.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The pass looks at selects of tiles in loops with dots, such as the causal
// mask of attention. Where a scalar condition implies that the mask is true
// everywhere, the select and its mask move under a branch:
//
//     m = rows >= n + cols              all = min(rows) >= n + max(cols)
//     s = select m, x, -inf             s = if all { x }
//                                           else { m = rows >= n + cols
//                                                  select m, x, -inf }
#include "codegen/gpu/masks/TileBounds.h"
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-guard-masks"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_GUARDMASKSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// Instructions that must be saved per iteration for each added instruction.
constexpr int64_t kGain = 2;
// Instructions of a branch and of its reconvergence.
constexpr int64_t kBranchCost = 4;
// Instructions of a division by a constant: a wide product and shifts.
constexpr int64_t kDivisionCost = 5;

// Returns the number of elements that a thread computes; 0 for operations that
// only change the shape.
int64_t costOf(Operation *op) {
  if (isa<tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp, tile::ReshapeOp,
          tile::SplatOp>(op))
    return 0;
  tile::LinearAttr layout = tile::layoutOf(op->getResult(0).getType());
  return layout ? int64_t(1) << layout.getRegisters().size() : 1;
}

// Returns the operations that compute the mask and that only `select` needs, in
// program order. All are pure and in the block of `select`.
SmallVector<Operation *> partsOf(arith::SelectOp select) {
  llvm::SetVector<Operation *> parts;
  SmallVector<Value> work = {select.getCondition()};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != select->getBlock() || op->getNumRegions() ||
        !isPure(op) || parts.contains(op) ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      continue;
    bool alone = llvm::all_of(op->getUsers(), [&](Operation *user) {
      return user == select || parts.contains(user);
    });
    if (!alone)
      continue; // The last user adds `op` to `work` again.
    parts.insert(op);
    work.append(op->operand_begin(), op->operand_end());
  }
  SmallVector<Operation *> ordered(parts.begin(), parts.end());
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

class Guard {
public:
  Guard(arith::SelectOp select, const AxisInfoAnalysis &axes)
      : select(select), axes(axes) {}

  void run() {
    // TileBounds inserts operations before the select. `written` collects them:
    // they are erased if the branch does not pay.
    Operation *before = select->getPrevNode();
    OpBuilder b(select);
    Value all = TileBounds(b, select.getLoc(), axes).all(select.getCondition());
    SmallVector<Operation *> written;
    for (Operation *op = before ? before->getNextNode()
                                : &select->getBlock()->front();
         op != select; op = op->getNextNode())
      written.push_back(op);
    SmallVector<Operation *> parts = partsOf(select);
    const bool guards =
        all && !matchPattern(all, m_Zero()) && pays(written, parts);
    LDBG() << (guards ? "guard" : "keep") << " the mask at " << select.getLoc()
           << (guards ? ""
               : all  ? ": no gain"
                      : ": no bounds known");
    if (!guards) {
      for (Operation *op : llvm::reverse(written))
        op->erase();
      return;
    }
    for (Operation *op : written)
      hoist(op);
    auto branch =
        scf::IfOp::create(b, select.getLoc(), TypeRange{select.getType()}, all,
                          /*withElseRegion=*/true);
    select.replaceAllUsesWith(branch.getResult(0));
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(b, select.getLoc(), select.getTrueValue());
    Block &masked = branch.getElseRegion().front();
    for (Operation *op : parts)
      op->moveBefore(&masked, masked.end());
    select->moveBefore(&masked, masked.end());
    b.setInsertionPointToEnd(&masked);
    scf::YieldOp::create(b, select.getLoc(), select.getResult());
  }

private:
  // Moves `op` out of all loops and branches that do not define its operands.
  static void hoist(Operation *op) {
    for (Operation *parent = op->getParentOp();
         isa<scf::ForOp, scf::IfOp>(parent) &&
         llvm::none_of(op->getOperands(),
                       [&](Value value) {
                         return parent->isAncestor(
                             value.getParentBlock()->getParentOp());
                       });
         parent = op->getParentOp())
      op->moveBefore(parent);
  }

  // True if an unmasked iteration saves kGain times the instructions that every
  // iteration adds. Instructions outside of the loop count as free.
  bool pays(ArrayRef<Operation *> written, ArrayRef<Operation *> parts) {
    int64_t saved = costOf(select), added = kBranchCost;
    for (Operation *op : parts)
      saved += costOf(op);
    auto loop = select->getParentOfType<scf::ForOp>();
    llvm::SmallPtrSet<Operation *, 16> varying;
    for (Operation *op : written) {
      bool varies = llvm::any_of(op->getOperands(), [&](Value value) {
        Operation *def = value.getDefiningOp();
        if (def && llvm::is_contained(written, def))
          return varying.contains(def);
        return loop->isAncestor(value.getParentBlock()->getParentOp());
      });
      if (varies) {
        varying.insert(op);
        added += isa<arith::DivSIOp>(op) ? kDivisionCost : 1;
      }
    }
    return saved >= kGain * added;
  }

  arith::SelectOp select;
  const AxisInfoAnalysis &axes;
};

struct GuardMasksPass : public impl::GuardMasksPassBase<GuardMasksPass> {
  using Base::Base;

  void runOnOperation() final {
    SmallVector<arith::SelectOp> selects;
    getOperation().walk([&](arith::SelectOp select) {
      if (!isa<RankedTensorType>(select.getCondition().getType()))
        return;
      auto loop = select->getParentOfType<scf::ForOp>();
      if (loop &&
          loop.getBody()
              ->walk([](tile::DotOp) { return WalkResult::interrupt(); })
              .wasInterrupted())
        selects.push_back(select);
    });
    if (selects.empty())
      return;
    AxisInfoAnalysis axes(getOperation());
    for (arith::SelectOp select : selects)
      Guard(select, axes).run();
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
