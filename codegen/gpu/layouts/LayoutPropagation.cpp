// codegen/gpu/layouts/LayoutPropagation.cpp - assigns layouts to the tensors
// that are not rematerialized.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/LayoutPropagation.h"

#include "codegen/analysis/Stride.h"
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/SharedResult.h"
#include "codegen/gpu/layouts/Traffic.h"
#include "codegen/gpu/layouts/Transfer.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/Share.h"
#include "dialect/tile/DotInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

LayoutPropagation::LayoutPropagation(func::FuncOp function,
                                     const Anchors &anchors, int numWarps)
    : function(function), given(anchors), numWarps(numWarps) {
  findRematerializable();
  usedWarpBits.assign(llvm::Log2_32(uint32_t(numWarps)), false);
  auto use = [&](tile::LinearAttr layout) {
    for (auto [basis, isUsed] : llvm::zip(layout.getWarps(), usedWarpBits))
      isUsed |= basis != 0;
  };
  for (auto &[op, layout] : given.access)
    if (!isSmallAccess(op))
      use(layout);
  for (auto &[op, dot] : given.dots)
    use(dot.acc);
  Region &body = function.getFunctionBody();
  for (bool changed = true; changed;) {
    // An elementwise result takes the first of these layouts that exists:
    //   1. the layout of a `strong` operand
    //   2. if all operands except broadcasts have a layout, that of the first
    //   3. the layout of the first operand that has one (`eager`)
    //   4. a layout that a user wants (backward())
    //   5. a layout that decideOne() chooses
    // forward() has the rules of other operations.
    eager = false;
    while (forward(body))
      ;
    eager = true;
    changed = forward(body) || backward(body) || decideOne(body);
  }
  storeInPlace();
}

tile::LinearAttr LayoutPropagation::attr(const LinearLayout &layout) const {
  return tile::LinearAttr::get(function->getContext(), layout);
}

tile::LinearAttr LayoutPropagation::plain(ArrayRef<int64_t> shape) {
  auto &layout = plains[shape.vec()];
  if (!layout)
    layout = attr(plainLayout(shape, numWarps));
  return layout;
}

tile::LinearAttr LayoutPropagation::source(Value value) {
  if (isRematerializable(value))
    return plain(tile::shapeOf(value.getType()));
  return assigned(value);
}

bool LayoutPropagation::isSmallAccess(Operation *op) const {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  return type.getNumElements() <= 2 * int64_t(numWarps) * layout::lanesPerWarp;
}

tile::LinearAttr LayoutPropagation::ownLayout(Operation *op) {
  tile::LinearAttr anchor = given.access.lookup(op);
  SmallVector<layout::Word> registers(anchor.getRegisters()), warps;
  for (auto [basis, isUsed] : llvm::zip(anchor.getWarps(), usedWarpBits)) {
    warps.push_back(isUsed ? basis : 0);
    if (!isUsed && basis)
      registers.push_back(basis);
  }
  return tile::LinearAttr::get(anchor.getContext(), anchor.getShape(),
                               registers, anchor.getLanes(), warps);
}

static bool feedsLoads(Value value);

bool LayoutPropagation::wastesSectors(Operation *op, tile::LinearAttr layout) {
  tile::LinearAttr own = ownLayout(op);
  if (layout == own)
    return false;
  int axis = 0;
  int64_t width = neighboursInLane(own.layout(), axis);
  // If a lane holds no neighbours, takes the axis along which lanes 0 and 1
  // hold neighbours, if any.
  for (size_t d = 0; axis < 0 && d < own.layout().outs().size(); ++d)
    if (!own.getLanes().empty() &&
        own.getLanes()[0] ==
            layout::Word(1) << own.layout().outStart(layout::tileDim(int(d))))
      axis = int(d);
  axis = std::max(axis, 0);
  AccessPattern pattern = patternOf(op, axis, width);
  auto traffic = [&](tile::LinearAttr each) {
    Traffic count = trafficOf(each.layout(), pattern);
    // Unused warps issue no loads: tessera-trim-warps removes them.
    if (!pattern.isStore) {
      count.requests >>= llvm::count(usedWarpBits, false);
      count.sectors >>= llvm::count(usedWarpBits, false);
    }
    return count;
  };
  Traffic here = traffic(layout), alone = traffic(own);
  // If the stride is unknown, the sector count is an estimate that assumes
  // stride 1. Then also require that `layout` needs no more requests.
  bool isKnown = strideAlong(op->getOperand(0), axis).has_value();
  if (here.sectors <= alone.sectors &&
      (isKnown || here.requests <= alone.requests))
    return false;
  Operation *loop = op->getParentOp();
  while (loop && !isa<scf::ForOp, scf::WhileOp>(loop))
    loop = loop->getParentOp();
  if (!loop)
    return true;
  auto hasDot = [](Operation *op) {
    return op->walk([](tile::DotOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  };
  if (pattern.isStore &&
      hasDot(loop)) // The conversion is small compared with the dot.
    return true;
  // If another load's address or mask depends on this value, a conversion would
  // delay that load. The pipeliner often computes that address one iteration
  // ahead.
  if (!pattern.isStore && feedsLoads(op->getResult(0)))
    return false;
  int64_t warps = int64_t(1) << llvm::count(usedWarpBits, true);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  return type.getNumElements() >= int64_t(numWarps) * layout::lanesPerWarp ||
         here.requests >= 4 * alone.requests ||
         here.sectors - alone.sectors >= 16 * warps;
}

tile::LinearAttr LayoutPropagation::access(Operation *op) const {
  if (op->getNumResults())
    return assigned(op->getResult(0));
  return accesses.lookup(op);
}

// Maps a loop result to the body argument that carries it, and the argument to
// the result; returns null for any other value. For scf.while, the argument is
// one of the `after` region. The two hold one carried value and so must have
// the same layout.
static Value carriedTwin(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
      return loop.getRegionIterArg(result.getResultNumber());
    if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
      return loop.getAfterArguments()[result.getResultNumber()];
    return {};
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return index ? loop.getResult(index - 1) : Value();
  if (auto loop = dyn_cast<scf::WhileOp>(parent))
    if (argument.getOwner() == loop.getAfterBody())
      return loop.getResult(index);
  return {};
}

bool LayoutPropagation::set(Value value, tile::LinearAttr layout,
                            bool isStrong) {
  if (!layout || !isTensor(value) || isRematerializable(value) ||
      !assignments.try_emplace(value, layout).second)
    return false;
  Value twin = carriedTwin(value);
  if (twin)
    assignments.try_emplace(twin, layout);
  if (isStrong) {
    strong.insert(value);
    if (twin)
      strong.insert(twin);
  }
  return true;
}

bool LayoutPropagation::propagate(Value to, Value from) {
  return !isRematerializable(from) &&
         set(to, assigned(from), strong.contains(from));
}

//===----------------------------------------------------------------------===//
// Rematerializable values
//===----------------------------------------------------------------------===//

// True if an operation may be duplicated, once for each layout. Operations of
// the math dialect and float division are too expensive for this. Integer
// division is allowed, because many addresses and masks contain it. ub.poison
// is compared by name, which needs no header of its dialect.
bool LayoutPropagation::canRematerialize(Operation *op) const {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa<tile::RangeOp, tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp,
          tile::TransOp, tile::ReshapeOp>(op))
    return true;
  if (op->getName().getStringRef() == "ub.poison")
    return true;
  return isElementwise(op) && op->getNumResults() == 1 &&
         !isa<math::MathDialect>(op->getDialect()) && !isa<arith::DivFOp>(op);
}

void LayoutPropagation::findRematerializable() {
  // Greatest fixed point: starts with all candidates and removes those with an
  // operand that is not rematerializable.
  function.walk([&](Operation *op) {
    auto add = [&](ValueRange values) {
      for (Value value : values)
        if (isTensor(value))
          rematerializable.insert(value);
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      add(loop.getResults());
      add(loop.getRegionIterArgs());
    } else if (isa<scf::IfOp>(op) || canRematerialize(op)) {
      add(op->getResults());
    }
  });
  auto holds = [&](Value value) {
    return !isTensor(value) || rematerializable.contains(value);
  };
  bool changed = true;
  while (changed) {
    changed = false;
    auto drop = [&](Value value) { changed |= rematerializable.erase(value); };
    function.walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        for (auto [arg, init, result, next] :
             llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(),
                       loop.getResults(), loop.getYieldedValues()))
          if (!holds(init) || !holds(next)) {
            drop(arg);
            drop(result);
          }
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        for (auto [i, result] : llvm::enumerate(branch.getResults()))
          if (!holds(branch.thenYield().getOperand(i)) ||
              !holds(branch.elseYield().getOperand(i)))
            drop(result);
      } else if (!llvm::all_of(op->getOperands(), holds)) {
        for (Value result : op->getResults())
          drop(result);
      }
    });
  }
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

bool LayoutPropagation::forward(Region &region) {
  bool changed = false;
  for (Block &block : region)
    for (Operation &op : block)
      changed |= forward(&op);
  return changed;
}

bool LayoutPropagation::forwardFor(scf::ForOp loop) {
  bool changed = forward(loop.getRegion());
  for (auto [arg, init, result, next] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(),
                 loop.getResults(), loop.getYieldedValues())) {
    changed |= propagate(arg, next) || propagate(arg, init);
    changed |= propagate(result, arg);
  }
  return changed;
}

bool LayoutPropagation::forwardWhile(scf::WhileOp loop) {
  bool changed = forward(loop.getBefore());
  auto condition = loop.getConditionOp();
  for (auto [arg, result, value] : llvm::zip(
           loop.getAfterArguments(), loop.getResults(), condition.getArgs())) {
    changed |= propagate(arg, value);
    changed |= propagate(result, value);
  }
  changed |= forward(loop.getAfter());
  for (auto [arg, init, next] :
       llvm::zip(loop.getBeforeArguments(), loop.getInits(),
                 loop.getYieldOp().getOperands()))
    changed |= propagate(arg, next) || propagate(arg, init);
  return changed;
}

bool LayoutPropagation::forwardIf(scf::IfOp branch) {
  bool changed = forward(branch.getThenRegion());
  changed |= forward(branch.getElseRegion());
  for (auto [i, result] : llvm::enumerate(branch.getResults()))
    changed |= propagate(result, branch.thenYield().getOperand(i)) ||
               propagate(result, branch.elseYield().getOperand(i));
  return changed;
}

// A large store uses its layout in anchors(). A small store uses that layout
// too if its value is rematerializable. Otherwise it uses the layout of its
// value, or ownLayout() if wastesSectors() is true for that layout.
bool LayoutPropagation::forwardStore(Operation *op) {
  if (!tensorOfPointers(op) || accesses.count(op))
    return false;
  Value value = op->getOperand(1);
  tile::LinearAttr layout = !isSmallAccess(op) || isRematerializable(value)
                                ? given.access.lookup(op)
                                : assigned(value);
  if (!layout)
    return false;
  if (isSmallAccess(op) && !isRematerializable(value) &&
      wastesSectors(op, layout))
    layout = ownLayout(op);
  accesses[op] = layout;
  return true;
}

bool LayoutPropagation::forward(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return forwardFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return forwardWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return forwardIf(branch);
  if (isa<tile::StoreOp>(op))
    return forwardStore(op);
  if (op->getNumResults() == 0 || !isTensor(op->getResult(0)) ||
      assignments.count(op->getResult(0)) ||
      isRematerializable(op->getResult(0)))
    return false;
  Value result = op->getResult(0);
  if (tensorOfPointers(op)) {
    if (!isSmallAccess(op))
      return set(result, given.access.lookup(op), false);
    // A small load takes its layout from its users (backward()). A small atomic
    // takes that of operand 1: the value of a read-modify-write, or the
    // expected value of a compare-and-swap.
    return isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op) &&
           propagate(result, op->getOperand(1));
  }
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return set(result, given.dots.at(op).acc,
               tile::mmaShapeOf(dot).has_value());
  if (isa<tile::HistogramOp>(op))
    return set(result, plain(tile::shapeOf(result.getType())), false);
  if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    // Indices that are computed anew in any layout leave the elements where
    // they are, so that lanes may exchange them.
    const bool anywhere = isRematerializable(gather.getIndices()) &&
                          tile::shapeOf(gather.getSrc().getType()) ==
                              tile::shapeOf(result.getType());
    return propagate(result, anywhere ? gather.getSrc() : gather.getIndices());
  }
  if (isElementwise(op)) {
    Value best;
    bool complete = true;
    for (Value operand : op->getOperands()) {
      if (!isTensor(operand) || isRematerializable(operand))
        continue;
      if (!assigned(operand))
        complete &= operand.getDefiningOp<tile::BroadcastOp>() != nullptr;
      else if (!best || (strong.contains(operand) && !strong.contains(best)))
        best = operand;
    }
    // Waits for operands without a layout, because they may still get that of a
    // dot: an accumulator gets its layout when propagation reaches its loop.
    return best && (complete || eager || strong.contains(best)) &&
           propagate(result, best);
  }
  if (isa<tile::BroadcastOp>(op))
    return false;
  // The operations of `takesAny` accept any layout of their operands;
  // rematerializable operands get the plain one. The first operand with a
  // layout decides.
  bool takesAny = isa<tile::ReduceOp, tile::ReduceByOp, tile::ScanOp,
                      tile::ScanByOp, tile::SortOp>(op);
  for (Value operand : op->getOperands()) {
    tile::LinearAttr from = takesAny ? source(operand) : assigned(operand);
    if (!from)
      continue;
    // Replicas (lanes that hold equal elements) would repeat the sort.
    if (isa<tile::SortOp>(op))
      from = attr(layout::shareReplication(from.layout()));
    std::optional<LinearLayout> layout = resultLayout(op, from.layout());
    if (auto shares = sharedResult(op, from.layout()))
      layout = shares;
    if (!layout) // `op` is a split whose halves are in different lanes
      layout = plain(tile::shapeOf(result.getType())).layout();
    bool changed = false;
    for (Value each : op->getResults())
      changed |= set(each, attr(*layout), strong.contains(operand));
    if (takesAny)
      combined.try_emplace(op, from);
    return changed;
  }
  return false;
}

tile::LinearAttr LayoutPropagation::combinedIn(Operation *op) {
  if (tile::LinearAttr layout = combined.lookup(op))
    return layout;
  for (Value operand : op->getOperands())
    if (tile::LinearAttr layout = source(operand))
      return layout;
  return {};
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

// Returns the layout that a use wants; null if it is not known.
tile::LinearAttr LayoutPropagation::wantedBy(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (auto dot = dyn_cast<tile::DotOp>(user)) {
    const Anchors::Dot &layouts = given.dots.at(user);
    return index == 0 ? layouts.a : index == 1 ? layouts.b : layouts.acc;
  }
  if (tensorOfPointers(user))
    return access(user);
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    unsigned first = unsigned(loop.getNumControlOperands());
    return index < first ? tile::LinearAttr()
                         : assigned(loop.getRegionIterArg(index - first));
  }
  if (auto loop = dyn_cast<scf::WhileOp>(user))
    return assigned(loop.getBeforeArguments()[index]);
  if (isa<scf::ConditionOp>(user))
    return assigned(user->getParentOp()->getResult(index - 1));
  if (isa<scf::YieldOp>(user)) {
    Operation *parent = user->getParentOp();
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      return assigned(loop.getBeforeArguments()[index]);
    return assigned(parent->getResult(index));
  }
  if (user->getNumResults() == 0)
    return {};
  tile::LinearAttr result = assigned(user->getResult(0));
  if (!result)
    return {};
  if (isa<tile::ScanOp, tile::ScanByOp, tile::SortOp>(user) ||
      (isa<tile::GatherOp>(user) && index == 1))
    return result;
  auto layout = operandLayout(user, index, result.layout());
  return layout ? attr(*layout) : tile::LinearAttr();
}

// True if `value` is the result of a small load in an scf.for, or of
// elementwise operations on such results and rematerializable values.
bool LayoutPropagation::isSmallInLoop(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || !op->getParentOfType<scf::ForOp>() || op->getNumResults() != 1)
    return false;
  if (isa<tile::LoadOp>(op))
    return tensorOfPointers(op) && isSmallAccess(op);
  bool any = false;
  if (isElementwise(op))
    for (Value operand : op->getOperands()) {
      if (!isTensor(operand) || isRematerializable(operand))
        continue;
      if (!isSmallInLoop(operand))
        return false;
      any = true;
    }
  return any;
}

// True if an operand of a load is computed from `value` by elementwise and
// shape operations.
static bool feedsLoads(Value value) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> queue = {value};
  while (!queue.empty()) {
    Value each = queue.pop_back_val();
    if (!seen.insert(each).second)
      continue;
    for (Operation *user : each.getUsers()) {
      if (isa<tile::LoadOp>(user))
        return true;
      if (user->getNumResults() == 1 &&
          (isElementwise(user) || isa<tile::ExpandDimsOp, tile::BroadcastOp,
                                      tile::TransOp, tile::ReshapeOp>(user)))
        queue.push_back(user->getResult(0));
    }
  }
  return false;
}

bool LayoutPropagation::backward(Value value) {
  if (!isTensor(value) || isRematerializable(value) || assignments.count(value))
    return false;
  // Only the operands determine the layouts of these operations.
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tile::ReduceOp, tile::ReduceByOp, tile::JoinOp,
                      tile::SplitOp>(op))
    return false;
  tile::LinearAttr best;
  bool bestStrong = false;
  for (OpOperand &use : value.getUses()) {
    tile::LinearAttr layout = wantedBy(use);
    if (!layout)
      continue;
    Operation *user = use.getOwner();
    bool isStrong =
        isa<tile::DotOp>(user) ||
        (user->getNumResults() && strong.contains(user->getResult(0)));
    if (!best || (isStrong && !bestStrong)) {
      best = layout;
      bestStrong = isStrong;
    }
  }
  // The layout that a dot's result implies for a vector gives each lane many
  // elements, and other lanes hold the same elements. A small load in a loop
  // instead uses the plain layout: each lane loads one element, and a
  // conversion distributes them. This does not apply if operands of other loads
  // are computed from the vector, because the conversion would delay them.
  if (best && bestStrong && int64_t(1) << best.getRegisters().size() >= 8 &&
      tile::shapeOf(value.getType()).size() == 1 && isSmallInLoop(value) &&
      !feedsLoads(value)) {
    best = plain(tile::shapeOf(value.getType()));
    bestStrong = false;
  } else if (op && isa<tile::LoadOp>(op) && best && isSmallAccess(op) &&
             wastesSectors(op, best)) {
    best = ownLayout(op);
    bestStrong = false;
  }
  // `bestStrong` is false if one of these branches replaced the dot's layout.
  return set(value, best, bestStrong);
}

bool LayoutPropagation::backward(Region &region) {
  bool changed = false;
  for (Block &block : llvm::reverse(region)) {
    for (Operation &op : llvm::reverse(block)) {
      for (Value result : op.getResults())
        changed |= backward(result);
      for (Region &inner : llvm::reverse(op.getRegions()))
        changed |= backward(inner);
    }
    for (Value argument : block.getArguments())
      changed |= backward(argument);
  }
  return changed;
}

// Assigns a layout to one access or value for which propagation determined
// none. The largest access without a layout gets its layout in anchors(). If
// all accesses have one, the first value without a layout gets one, or an
// operand from whose layout that of the value follows.
bool LayoutPropagation::decideOne(Region &region) {
  Operation *largest = nullptr;
  Value open;
  int64_t most = 0;
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (tensorOfPointers(op) && !access(op)) {
      int64_t size =
          cast<RankedTensorType>(op->getOperand(0).getType()).getNumElements();
      if (size > most) {
        most = size;
        largest = op;
      }
    }
    auto look = [&](Value value) {
      if (!open && isTensor(value) && !isRematerializable(value) &&
          !assignments.count(value))
        open = value;
    };
    for (Value result : op->getResults())
      look(result);
    for (Region &inner : op->getRegions())
      for (Block &block : inner)
        for (Value argument : block.getArguments())
          look(argument);
  });
  if (largest) {
    tile::LinearAttr layout = given.access.lookup(largest);
    if (largest->getNumResults())
      return set(largest->getResult(0), layout, false);
    accesses[largest] = layout;
    return true;
  }
  if (!open)
    return false;
  Operation *op = open.getDefiningOp();
  tile::LinearAttr layout;
  // If no user wants a layout of a broadcast, its new axes are distributed over
  // the lanes that would hold replicas.
  if (op && isa<tile::BroadcastOp>(op))
    if (tile::LinearAttr from = assigned(op->getOperand(0)))
      layout = attr(spreadBroadcast(from.layout(),
                                    tile::shapeOf(op->getResult(0).getType())));
  if (op &&
      isa<tile::ReduceOp, tile::ReduceByOp, tile::JoinOp, tile::SplitOp>(op)) {
    // An operand without a layout gets the plain one first. If the operand is
    // rematerializable, the result gets the layout that follows from the plain
    // one. None follows if the halves of a split are in different lanes.
    for (Value operand : op->getOperands()) {
      if (assigned(operand))
        continue;
      tile::LinearAttr whole = plain(tile::shapeOf(operand.getType()));
      if (!isRematerializable(operand))
        return set(operand, whole, false);
      if (auto result = resultLayout(op, whole.layout()))
        layout = attr(*result);
      break;
    }
  }
  if (!layout)
    layout = plain(tile::shapeOf(open.getType()));
  return set(open, layout, false);
}

} // namespace tessera::codegen::gpu
