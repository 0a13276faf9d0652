// codegen/analysis/AxisInfo.cpp - data flow: arguments, regions, loops, hints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/AxisInfo.h"

#include "codegen/analysis/AxisInfoOps.h"
#include "dialect/tile/TileDialect.h"
#include "support/GpuTarget.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen {

int64_t elementBytes(Type type) {
  Type element = tile::elementType(type);
  if (auto ptr = dyn_cast<tile::PtrType>(element))
    element = ptr.getPointee();
  if (isa<tile::PtrType>(element))
    return 8;
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

// The limits are those of the CUDA C++ Programming Guide, "Technical
// Specifications".
int64_t mostPrograms(Operation *op, int64_t axis) {
  if (axis > 0)
    return 65535;
  auto module = op->getParentOfType<ModuleOp>();
  return module && module->hasAttr(kWideGridAttr) ? llvm::maxIntN(32)
                                                  : int64_t(narrowGrid);
}

AxisInfo AxisInfoAnalysis::of(Value value) const {
  auto it = infos.find(value);
  return it == infos.end() ? axis::unknown(value.getType()) : it->second;
}

int64_t AxisInfoAnalysis::accessWidth(Value ptr, Value mask,
                                      int64_t dim) const {
  int64_t bytes = elementBytes(ptr.getType());
  AxisInfo address = of(ptr);
  assert(dim >= 0 && size_t(dim) < address.axes.size() &&
         "the pointers do not have this axis");
  const AxisInfo::Axis &axis = address.axes[dim];
  int64_t width = std::min({axis.contiguity, axis.divisibility / bytes,
                            std::max<int64_t>(1, 16 / bytes)});
  if (mask) {
    const AxisInfo masked = of(mask);
    assert(masked.axes.size() == address.axes.size() &&
           "mask and pointers have one shape");
    width = std::min(width, masked.axes[dim].constancy);
  }
  return std::max<int64_t>(1, width);
}

// Adds the facts of the hints multiple_of, max_contiguous and max_constancy:
// attributes of the defining operation with one number per dimension.
static void applyHints(Operation *op, AxisInfo &info, Type type) {
  auto hint = [&](StringRef name) -> ArrayRef<int32_t> {
    auto attr = op->getAttrOfType<DenseI32ArrayAttr>(name);
    return attr && attr.size() == int64_t(info.axes.size())
               ? attr.asArrayRef()
               : ArrayRef<int32_t>();
  };
  ArrayRef<int64_t> shape = tile::shapeOf(type);
  auto upTo = [&](size_t d, int32_t value) {
    return std::min(axis::powerOfTwoIn(value), shape.empty() ? 1 : shape[d]);
  };
  if (auto sizes = hint("tile.contiguity"); !sizes.empty())
    for (auto [d, size] : llvm::enumerate(sizes))
      if (int64_t c = upTo(d, size); c > info.axes[d].contiguity) {
        info.axes[d].contiguity = c;
        info.axes[d].constancy = 1;
      }
  if (auto sizes = hint("tile.constancy"); !sizes.empty())
    for (auto [d, size] : llvm::enumerate(sizes))
      if (int64_t k = upTo(d, size); k > info.axes[d].constancy) {
        info.axes[d].constancy = k;
        if (k > 1)
          info.axes[d].contiguity = 1;
      }
  if (auto divisors = hint(tile::kDivisibilityAttr); !divisors.empty())
    for (auto [d, divisor] : llvm::enumerate(divisors))
      info.axes[d].divisibility =
          std::max(info.axes[d].divisibility, axis::powerOfTwoIn(divisor));
}

void AxisInfoAnalysis::set(Value value, AxisInfo info) {
  if (auto it = assumed.find(value); it != assumed.end())
    info = axis::meet(info, it->second, value.getType());
  infos[value] = std::move(info);
}

// Adds to `facts` what the true `condition` of a tile.assume implies about
// scalars.
static void assume(Value condition, llvm::DenseMap<Value, AxisInfo> &facts) {
  Operation *op = condition.getDefiningOp();
  if (!op)
    return;
  if (isa<arith::AndIOp>(op)) {
    assume(op->getOperand(0), facts);
    assume(op->getOperand(1), facts);
    return;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  APInt bound;
  if (!compare || !matchPattern(compare.getRhs(), m_ConstantInt(&bound)) ||
      isa<RankedTensorType>(compare.getLhs().getType()))
    return;
  int64_t limit = bound.getSExtValue();
  Value subject = compare.getLhs();
  using P = arith::CmpIPredicate;
  auto add = [&](Value value, const AxisInfo &info) {
    auto [it, isNew] = facts.try_emplace(value, info);
    if (!isNew)
      it->second = axis::meet(it->second, info, value.getType());
  };
  AxisInfo info = axis::unknown(subject.getType());
  switch (compare.getPredicate()) {
  case P::eq: {
    add(subject, axis::ofConstant(subject.getType(), limit));
    Operation *def = subject.getDefiningOp();
    APInt divisor;
    if (limit == 0 && def && isa<arith::RemSIOp, arith::RemUIOp>(def) &&
        matchPattern(def->getOperand(1), m_ConstantInt(&divisor)) &&
        !divisor.isZero()) {
      AxisInfo multiple = axis::unknown(subject.getType());
      multiple.axes[0].divisibility =
          axis::powerOfTwoIn(divisor.getSExtValue());
      add(def->getOperand(0), multiple);
    }
    return;
  }
  case P::sge:
    info.low = limit;
    break;
  case P::sgt:
    info.low = limit == info.high ? limit : limit + 1;
    break;
  case P::sle:
    info.high = limit;
    break;
  case P::slt:
    info.high = limit == info.low ? limit : limit - 1;
    break;
  default:
    return;
  }
  add(subject, info);
}

AxisInfoAnalysis::AxisInfoAnalysis(Operation *root) {
  root->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    Region &body = function.getFunctionBody();
    if (body.empty())
      return WalkResult::skip();
    // Assumes in the entry block hold everywhere: the block always executes.
    for (auto op : body.front().getOps<tile::AssumeOp>())
      assume(op.getCondition(), assumed);
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
      AxisInfo info = axis::unknown(argument.getType());
      if (auto divisor = function.getArgAttrOfType<IntegerAttr>(
              i, tile::kDivisibilityAttr))
        for (AxisInfo::Axis &axis : info.axes)
          axis.divisibility = axis::powerOfTwoIn(divisor.getInt());
      set(argument, info);
    }
    visitBlock(body);
    return WalkResult::skip();
  });
}

void AxisInfoAnalysis::visitBlock(Region &region) {
  for (Block &block : region)
    for (Operation &op : block)
      visit(&op);
}

// Runs `body`, the transfer function of a loop body, until the facts about the
// carried values no longer change. Each iteration joins them with the facts
// about the values that the loop yields, so they only get weaker. `yielded(i)`
// returns the facts about the i-th yielded value after an iteration.
template <typename Body, typename Yielded>
static void fixpoint(SmallVectorImpl<AxisInfo> &carried, ArrayRef<Type> types,
                     Body &&body, Yielded &&yielded) {
  for (int iteration = 0;; ++iteration) {
    body();
    bool changed = false;
    for (size_t i = 0; i < carried.size(); ++i) {
      AxisInfo next = axis::join(carried[i], yielded(i), types[i]);
      if (iteration > 0)
        axis::widenBounds(next, carried[i], types[i]);
      changed |= !(next == carried[i]);
      carried[i] = std::move(next);
    }
    if (!changed)
      return;
  }
}

void AxisInfoAnalysis::visit(Operation *op) {
  auto infosOf = [&](ValueRange values) {
    return llvm::to_vector(
        llvm::map_range(values, [&](Value v) { return of(v); }));
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    set(loop.getInductionVar(),
        axis::ofCounter(of(loop.getLowerBound()), of(loop.getUpperBound()),
                        of(loop.getStep()), loop.getInductionVar().getType()));
    SmallVector<AxisInfo> carried = infosOf(loop.getInitArgs());
    SmallVector<Type> types(loop.getResultTypes());
    Operation *yield = loop.getBody()->getTerminator();
    fixpoint(
        carried, types,
        [&] {
          for (auto [arg, info] : llvm::zip(loop.getRegionIterArgs(), carried))
            set(arg, info);
          visitBlock(loop.getRegion());
        },
        [&](size_t i) { return of(yield->getOperand(i)); });
    for (auto [result, info] : llvm::zip(loop.getResults(), carried))
      set(result, info);
    return;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    SmallVector<AxisInfo> carried = infosOf(loop.getInits());
    SmallVector<Type> types(loop.getInits().getTypes());
    auto condition = loop.getConditionOp();
    fixpoint(
        carried, types,
        [&] {
          for (auto [arg, info] : llvm::zip(loop.getBeforeArguments(), carried))
            set(arg, info);
          visitBlock(loop.getBefore());
          for (auto [arg, value] :
               llvm::zip(loop.getAfterArguments(), condition.getArgs()))
            set(arg, of(value));
          visitBlock(loop.getAfter());
        },
        [&](size_t i) { return of(loop.getYieldOp().getOperand(i)); });
    for (auto [result, value] :
         llvm::zip(loop.getResults(), condition.getArgs()))
      set(result, of(value));
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    visitBlock(branch.getThenRegion());
    visitBlock(branch.getElseRegion());
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      set(result,
          axis::join(of(branch.thenYield().getOperand(i)),
                     of(branch.elseYield().getOperand(i)), result.getType()));
    return;
  }
  for (Region &region : op->getRegions())
    visitBlock(region);
  if (op->getNumResults() == 0)
    return;
  SmallVector<AxisInfo> operands = infosOf(op->getOperands());
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    AxisInfo info = axis::ofResult(op, i, operands);
    if (op->getNumResults() == 1)
      applyHints(op, info, result.getType());
    set(result, std::move(info));
  }
}

} // namespace tessera::codegen
