// codegen/gpu/layouts/Rewrite.cpp - rewrites a kernel with layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A version of a value is the value in one layout. *Demand* starts at roots
// (stores, loops, scalars), follows operands backward and records the versions
// of every value that its users need. *Emit* traverses the kernel in program
// order and writes each version. Values that no user needs are dropped.
//
//     i = range            : no layout      i1 = range : #blocked
//     x = load (p + i)     : #blocked  =>   x = load (p + i1) : #blocked
//     m = i < n            : no layout      i2 = range : #acc
//     y = select m, .., .. : #acc           y = select (i2 < n), .., .. : #acc
#include "codegen/gpu/layouts/Rewrite.h"

#include "codegen/gpu/kernel/Contraction.h"
#include "codegen/gpu/layouts/AccessLayouts.h"
#include "codegen/gpu/layouts/Costs.h"
#include "codegen/gpu/layouts/Transfer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {
namespace {

using Layout = tile::LinearAttr;

Type withLayout(Type type, Layout layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               layout);
}

class Rewriter {
public:
  Rewriter(func::FuncOp function, LayoutPropagation &propagation)
      : function(function), propagation(propagation), costs(propagation),
        builder(function.getContext()) {}

  void run() {
    demandRoots(function.getFunctionBody());
    emitFunction();
  }

private:
  // How a version of a value is computed.
  enum class How { Assigned, Rematerialized, Converted };
  struct Version {
    Layout layout;
    How how;
  };

  // --- Demand ---------------------------------------------------------------

  void demandRoots(Region &region);
  void demandOperands(Operation *op, Layout layout);
  void demand(Value value, Layout layout);
  Layout layoutFor(Operation *op, unsigned index, Layout result);
  // Demands all results, arguments and operands that form one carried value.
  void demandCarried(Value value, Layout layout);

  // --- Emit -----------------------------------------------------------------

  void emitFunction();
  void emitBlock(Block &from);
  void emit(Operation *op);
  void emitFor(scf::ForOp loop);
  void emitIf(scf::IfOp branch);
  void emitWhile(scf::WhileOp loop);
  Operation *emitAs(Operation *op, Layout layout);
  void emitConversions(Value value);
  Value get(Value value, Layout layout);
  void put(Value old, Layout layout, Value value) {
    written[{old, layout}] = value;
  }
  // Returns the layouts in which a loop or branch carries a value: those of its
  // versions that are not converted. Returns one null layout for a scalar.
  SmallVector<Layout> carriedLayouts(Value value);
  SmallVector<Value> valuesOf(Value value, ArrayRef<Layout> layouts) {
    SmallVector<Value> result;
    for (Layout layout : layouts)
      result.push_back(get(value, layout));
    return result;
  }
  static Type typeFor(Value value, Layout layout) {
    return layout ? withLayout(value.getType(), layout) : value.getType();
  }

  func::FuncOp function;
  LayoutPropagation &propagation;
  Costs costs;
  OpBuilder builder;
  llvm::DenseMap<Value, SmallVector<Version, 2>> versions;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> written;
};

bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Demand
//===----------------------------------------------------------------------===//

void Rewriter::demandRoots(Region &region) {
  region.walk([&](Operation *op) {
    // Combine regions contain operations on scalars only.
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>()) {
      // A while loop carries each value in its assigned layout only.
      if (auto loop = dyn_cast<scf::WhileOp>(op))
        for (ValueRange values : {ValueRange(loop.getBeforeArguments()),
                                  ValueRange(loop.getAfterArguments()),
                                  ValueRange(loop.getResults())})
          for (Value value : values)
            demand(value, propagation.assigned(value));
      return;
    }
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      demandOperands(op, propagation.access(op));
      return;
    }
    bool pure = isMemoryEffectFree(op);
    if (auto load = dyn_cast<tile::LoadOp>(op))
      pure = !load.getIsVolatile();
    bool givesTensor = op->getNumResults() && isTensor(op->getResult(0));
    if (givesTensor && !pure)
      demand(op->getResult(0), propagation.assigned(op->getResult(0)));
    else if (!givesTensor)
      demandOperands(op, {});
  });
}

// Returns the layout of operand `index` of an operation whose results have the
// layout `result`, which is null if no result is a tensor.
Layout Rewriter::layoutFor(Operation *op, unsigned index, Layout result) {
  Value operand = op->getOperand(index);
  if (isa<tile::DotOp>(op)) {
    const Anchors::Dot &dot = propagation.anchors().dots.at(op);
    Layout wanted = index == 0 ? dot.a : index == 1 ? dot.b : dot.acc;
    return wanted ? wanted : propagation.source(operand);
  }
  if (tensorOfPointers(op))
    return result;
  if (isa<tile::ReduceOp, tile::ReduceByOp>(op))
    return propagation.combinedIn(op);
  if (isa<tile::ScanOp, tile::ScanByOp, tile::SortOp>(op) ||
      (isa<tile::GatherOp>(op) && index == 1))
    return result;
  if (isa<tile::HistogramOp>(op)) // Values and mask share one layout.
    return propagation.source(op->getOperand(0));
  if (result)
    if (auto layout = operandLayout(op, index, result.layout()))
      return Layout::get(op->getContext(), *layout);
  return propagation.source(operand);
}

void Rewriter::demandOperands(Operation *op, Layout layout) {
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get()))
      demand(operand.get(), layoutFor(op, operand.getOperandNumber(), layout));
}

void Rewriter::demandCarried(Value value, Layout layout) {
  unsigned index;
  Operation *parent;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    parent = argument.getOwner()->getParentOp();
    index = argument.getArgNumber();
    if (isa<scf::ForOp>(parent))
      index -= 1;
  } else {
    parent = value.getDefiningOp();
    index = cast<OpResult>(value).getResultNumber();
  }
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    demand(loop.getRegionIterArg(index), layout);
    demand(loop.getResult(index), layout);
    demand(loop.getInitArgs()[index], layout);
    demand(loop.getYieldedValues()[index], layout);
  } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
    demand(branch.thenYield().getOperand(index), layout);
    demand(branch.elseYield().getOperand(index), layout);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    bool before = isa<BlockArgument>(value) &&
                  cast<BlockArgument>(value).getOwner() == loop.getBeforeBody();
    if (before) {
      demand(loop.getInits()[index], layout);
      demand(loop.getYieldOp().getOperand(index), layout);
    } else {
      demand(loop.getAfterArguments()[index], layout);
      demand(loop.getResult(index), layout);
      demand(loop.getConditionOp().getArgs()[index], layout);
    }
  }
}

void Rewriter::demand(Value value, Layout layout) {
  if (!isTensor(value) || !layout)
    return;
  auto &list = versions[value];
  if (llvm::any_of(list, [&](const Version &v) { return v.layout == layout; }))
    return;
  Layout assigned = propagation.assigned(value);
  How how = propagation.isRematerializable(value)         ? How::Rematerialized
            : layout == assigned                          ? How::Assigned
            : costs.cheaperToRematerialize(value, layout) ? How::Rematerialized
                                                          : How::Converted;
  list.push_back({layout, how});
  if (how == How::Converted)
    return demand(value, assigned);
  Operation *op = value.getDefiningOp();
  if (!op || isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return demandCarried(value, layout);
  demandOperands(op, layout);
}

//===----------------------------------------------------------------------===//
// Emit
//===----------------------------------------------------------------------===//

void Rewriter::emitFunction() {
  Region body;
  Block *block = &body.emplaceBlock();
  for (BlockArgument argument : function.getArguments())
    put(argument, {},
        block->addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(block);
  emitBlock(function.getFunctionBody().front());
  Operation *terminator = function.getFunctionBody().front().getTerminator();
  builder.clone(*terminator);
  function.getFunctionBody().takeBody(body);
}

Value Rewriter::get(Value value, Layout layout) {
  Value found = written.lookup({value, layout});
  assert(found && "no operation asked for this version");
  return found;
}

SmallVector<Layout> Rewriter::carriedLayouts(Value value) {
  if (!isTensor(value))
    return {Layout()};
  SmallVector<Layout> layouts;
  for (const Version &version : versions.lookup(value))
    if (version.how != How::Converted)
      layouts.push_back(version.layout);
  return layouts;
}

void Rewriter::emitConversions(Value value) {
  for (const Version &version : versions.lookup(value))
    if (version.how == How::Converted)
      put(value, version.layout,
          tile::ConvertLayoutOp::create(
              builder, value.getLoc(),
              withLayout(value.getType(), version.layout),
              get(value, propagation.assigned(value))));
}

void Rewriter::emitBlock(Block &from) {
  for (Operation &op : from.without_terminator())
    emit(&op);
}

// Emits `op` with results in `layout`, or without tensor results.
Operation *Rewriter::emitAs(Operation *op, Layout layout) {
  IRMapping scalars;
  // A combine region uses only scalars from outside.
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Value known = written.lookup({operand, Attribute()}))
          scalars.map(operand, known);
    });
  Operation *made = op->clone(scalars);
  for (OpOperand &operand : op->getOpOperands())
    made->setOperand(operand.getOperandNumber(),
                     get(operand.get(),
                         isTensor(operand.get())
                             ? layoutFor(op, operand.getOperandNumber(), layout)
                             : Layout()));
  made->removeAttr(kLayoutAttr);
  for (OpResult result : made->getResults())
    if (isTensor(result))
      result.setType(withLayout(result.getType(), layout));
  if (auto constant = dyn_cast<arith::ConstantOp>(made))
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(
          dense.reshape(cast<ShapedType>(constant.getType())));
  builder.insert(made);
  return made;
}

void Rewriter::emit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitIf(branch);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return emitWhile(loop);
  if (isa<tile::StoreOp>(op)) {
    emitAs(op, propagation.access(op));
    return;
  }
  if (op->getNumResults() == 0 || !isTensor(op->getResult(0))) {
    Operation *made = emitAs(op, {});
    for (auto [old, result] : llvm::zip(op->getResults(), made->getResults()))
      put(old, {}, result);
    return;
  }
  // Emits the operation once for each layout that any of its results needs.
  SmallVector<Layout> layouts;
  for (Value result : op->getResults())
    for (const Version &version : versions.lookup(result))
      if (version.how != How::Converted &&
          !llvm::is_contained(layouts, version.layout))
        layouts.push_back(version.layout);
  for (Layout layout : layouts) {
    Operation *made = emitAs(op, layout);
    if (layouts.size() > 1)
      keepRoundings(made);
    for (auto [old, result] : llvm::zip(op->getResults(), made->getResults()))
      put(old, layout, result);
  }
  for (Value result : op->getResults())
    emitConversions(result);
}

void Rewriter::emitFor(scf::ForOp loop) {
  SmallVector<SmallVector<Layout>> layouts;
  SmallVector<Value> inits;
  for (auto [arg, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs())) {
    layouts.push_back(carriedLayouts(arg));
    llvm::append_range(inits, valuesOf(init, layouts.back()));
  }
  auto made = scf::ForOp::create(
      builder, loop.getLoc(), get(loop.getLowerBound(), {}),
      get(loop.getUpperBound(), {}), get(loop.getStep(), {}), inits);
  made->setAttrs(loop->getAttrs());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = made.getBody();
    if (!body->empty())
      body->getTerminator()->erase();
    builder.setInsertionPointToEnd(body);
    made.getInductionVar().setLoc(loop.getInductionVar().getLoc());
    put(loop.getInductionVar(), {}, made.getInductionVar());
    unsigned next = 0;
    for (auto [arg, list] : llvm::zip(loop.getRegionIterArgs(), layouts))
      for (Layout layout : list)
        put(arg, layout, made.getRegionIterArg(next++));
    for (Value arg : loop.getRegionIterArgs())
      emitConversions(arg);
    emitBlock(*loop.getBody());
    SmallVector<Value> yielded;
    for (auto [value, list] : llvm::zip(loop.getYieldedValues(), layouts))
      llvm::append_range(yielded, valuesOf(value, list));
    scf::YieldOp::create(builder, loop.getBody()->getTerminator()->getLoc(),
                         yielded);
  }
  unsigned next = 0;
  for (auto [result, list] : llvm::zip(loop.getResults(), layouts))
    for (Layout layout : list)
      put(result, layout, made.getResult(next++));
  for (Value result : loop.getResults())
    emitConversions(result);
}

void Rewriter::emitIf(scf::IfOp branch) {
  SmallVector<SmallVector<Layout>> layouts;
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    layouts.push_back(carriedLayouts(result));
    for (Layout layout : layouts.back())
      types.push_back(typeFor(result, layout));
  }
  bool hasElse = !branch.getElseRegion().empty();
  auto made = scf::IfOp::create(builder, branch.getLoc(), types,
                                get(branch.getCondition(), {}),
                                /*addThenBlock=*/true,
                                /*addElseBlock=*/hasElse);
  made->setAttrs(branch->getAttrs());
  auto arm = [&](Region &from, Region &to) {
    if (from.empty())
      return;
    OpBuilder::InsertionGuard guard(builder);
    Block *block = &to.front();
    if (!block->empty())
      block->getTerminator()->erase();
    builder.setInsertionPointToEnd(block);
    emitBlock(from.front());
    SmallVector<Value> yielded;
    for (auto [value, list] :
         llvm::zip(from.front().getTerminator()->getOperands(), layouts))
      llvm::append_range(yielded, valuesOf(value, list));
    scf::YieldOp::create(builder, branch.getLoc(), yielded);
  };
  arm(branch.getThenRegion(), made.getThenRegion());
  arm(branch.getElseRegion(), made.getElseRegion());
  unsigned next = 0;
  for (auto [result, list] : llvm::zip(branch.getResults(), layouts))
    for (Layout layout : list)
      put(result, layout, made.getResult(next++));
  for (Value result : branch.getResults())
    emitConversions(result);
}

void Rewriter::emitWhile(scf::WhileOp loop) {
  auto listFor = [&](ValueRange values) {
    SmallVector<SmallVector<Layout>> layouts;
    for (Value value : values)
      layouts.push_back(isTensor(value)
                            ? SmallVector<Layout>{propagation.assigned(value)}
                            : SmallVector<Layout>{Layout()});
    return layouts;
  };
  auto before = listFor(loop.getBeforeArguments());
  auto after = listFor(loop.getResults());
  auto gather = [&](ValueRange values, ArrayRef<SmallVector<Layout>> layouts) {
    SmallVector<Value> result;
    for (auto [value, list] : llvm::zip(values, layouts))
      llvm::append_range(result, valuesOf(value, list));
    return result;
  };
  SmallVector<Type> types;
  for (auto [result, list] : llvm::zip(loop.getResults(), after))
    types.push_back(typeFor(result, list[0]));
  SmallVector<Value> inits = gather(loop.getInits(), before);
  auto made = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
  made->setAttrs(loop->getAttrs());
  auto region = [&](Block &from, Region &to,
                    ArrayRef<SmallVector<Layout>> layouts, auto &&finish) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = to.empty() ? &to.emplaceBlock() : &to.front();
    builder.setInsertionPointToEnd(block);
    for (auto [arg, list] : llvm::zip(from.getArguments(), layouts))
      put(arg, list[0],
          block->addArgument(typeFor(arg, list[0]), arg.getLoc()));
    for (Value arg : from.getArguments())
      emitConversions(arg);
    emitBlock(from);
    finish();
  };
  region(*loop.getBeforeBody(), made.getBefore(), before, [&] {
    auto condition = loop.getConditionOp();
    scf::ConditionOp::create(builder, condition.getLoc(),
                             get(condition.getCondition(), {}),
                             gather(condition.getArgs(), after));
  });
  region(*loop.getAfterBody(), made.getAfter(), after, [&] {
    scf::YieldOp::create(builder, loop.getYieldOp().getLoc(),
                         gather(loop.getYieldOp().getOperands(), before));
  });
  for (auto [old, list, result] :
       llvm::zip(loop.getResults(), after, made.getResults()))
    put(old, list[0], result);
  for (Value result : loop.getResults())
    emitConversions(result);
}

} // namespace

// Moves each conversion to the first use in its block. Until then, the tile is
// in the registers of the source, which takes fewer than a dot's operand: an
// operand is replicated.
static void sinkConversions(func::FuncOp function) {
  SmallVector<tile::ConvertLayoutOp> conversions;
  function.walk(
      [&](tile::ConvertLayoutOp convert) { conversions.push_back(convert); });
  for (tile::ConvertLayoutOp convert : llvm::reverse(conversions)) {
    Operation *first = nullptr;
    for (Operation *user : convert->getUsers()) {
      Operation *here = convert->getBlock()->findAncestorOpInBlock(*user);
      if (here && (!first || here->isBeforeInBlock(first)))
        first = here;
    }
    if (first)
      convert->moveBefore(first);
  }
}

void rewriteWithLayouts(func::FuncOp function, LayoutPropagation &propagation) {
  Rewriter(function, propagation).run();
  sinkConversions(function);
}

} // namespace tessera::codegen::gpu
