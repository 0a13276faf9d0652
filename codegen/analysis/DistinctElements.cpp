// codegen/analysis/DistinctElements.cpp - whether a tile has equal pointers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/DistinctElements.h"

#include "codegen/analysis/PointerOrigins.h"
#include "codegen/analysis/Stride.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera::codegen {

namespace {

// Returns the difference between adjacent elements along an axis; nullopt if it
// is not constant. For a loop-carried value it is that of the initial value,
// which is correct if the loop adds the same number to all elements.
// VaryingAxes checks the yielded values.
std::optional<int64_t> stepAlong(Value value, int64_t axis, int &visits) {
  if (--visits < 0)
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument != loop.getInductionVar())
      return stepAlong(loop.getTiedLoopInit(argument)->get(), axis, visits);
    return std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (!isa<tile::AddPtrOp, arith::AddIOp>(op))
    return strideAlong(value, axis);
  auto left = stepAlong(op->getOperand(0), axis, visits),
       right = stepAlong(op->getOperand(1), axis, visits);
  if (!left || !right)
    return std::nullopt;
  return *left + *right;
}

// Returns the axis of the operand that corresponds to `axis` of the result of
// `op`; nullopt if the operand has no such axis.
std::optional<int64_t> sourceAxis(Operation *op, int64_t axis) {
  if (isa<tile::TransOp, tile::ExpandDimsOp, tile::BroadcastOp>(op) ||
      isUnitReshape(op))
    return sourceDim(op, axis);
  if (isa<tile::ConvertLayoutOp, arith::ExtSIOp>(op))
    return axis;
  return std::nullopt;
}

// True if each element of `value` equals its index along `axis`.
bool isIndexAlong(Value value, int64_t axis) {
  Operation *op = value.getDefiningOp();
  if (auto range = dyn_cast_or_null<tile::RangeOp>(op))
    return !range.getStart();
  auto source = op ? sourceAxis(op, axis) : std::nullopt;
  return source && isIndexAlong(op->getOperand(0), *source);
}

// Returns an upper bound, from 1 to `size`, on the number of leading elements
// along `axis` outside of which `mask` is false. A null mask is always true.
int64_t passedAlong(Value mask, int64_t axis, int64_t size) {
  Operation *op = mask ? mask.getDefiningOp() : nullptr;
  if (!op)
    return size;
  if (isa<arith::AndIOp>(op))
    return std::min(passedAlong(op->getOperand(0), axis, size),
                    passedAlong(op->getOperand(1), axis, size));
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    auto bound = constantOf(compare.getRhs());
    if (bound && compare.getPredicate() == arith::CmpIPredicate::slt &&
        isIndexAlong(compare.getLhs(), axis))
      return std::clamp<int64_t>(*bound, 1, size);
    return size;
  }
  auto source = sourceAxis(op, axis);
  return source ? passedAlong(op->getOperand(0), *source, size) : size;
}

// Returns the constant steps of `value` along the axes in the bit set `axes`,
// repeated only for elements for which `mask` may be true.
SmallVector<KnownStep> stepsAlong(Value value, uint64_t axes, Value mask = {}) {
  SmallVector<KnownStep> steps;
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t d = 0; tensor && d < tensor.getRank(); ++d) {
    int visits = kMostVisits;
    if (tensor.getDimSize(d) > 1 && axes >> d & 1)
      if (auto step = stepAlong(value, d, visits))
        steps.push_back({uint64_t(std::abs(*step)),
                         passedAlong(mask, d, tensor.getDimSize(d)) - 1});
  }
  return steps;
}

// A bit set of the axes along which elements differ; nullopt if the value is
// not a sum of ranges along different axes.
using Axes = std::optional<uint64_t>;

class VaryingAxes {
public:
  Axes of(Value value) {
    if (wrong)
      return std::nullopt;
    if (!isa<RankedTensorType>(value.getType()))
      return 0;
    if (auto found = known.find(value); found != known.end())
      return found->second;
    auto incoming = incomingValues(value);
    const Axes axes = incoming.empty() ? ofResult(value.getDefiningOp())
                                       : ofIncoming(value, incoming);
    known[value] = axes;
    return axes;
  }

private:
  // Returns the axes that all incoming values have; nullopt if they differ.
  // Assumes that a loop's argument has the axes of its initial value while it
  // analyzes the yielded value.
  Axes ofIncoming(Value value, ValueRange incoming) {
    const Axes first = of(incoming.front());
    known[value] = first;
    for (Value other : incoming)
      if (of(other) != first || !first ||
          !areApart(stepsAlong(other, *first))) {
        // Cached results may depend on the assumption, which is false.
        wrong = true;
        return std::nullopt;
      }
    return first;
  }

  Axes ofResult(Operation *op) {
    if (!op)
      return std::nullopt;
    return llvm::TypeSwitch<Operation *, Axes>(op)
        .Case([](tile::RangeOp) { return 1; })
        .Case([](tile::SplatOp) { return 0; })
        .Case([](arith::ConstantOp constant) -> Axes {
          if (isa<SplatElementsAttr>(constant.getValue()))
            return 0;
          return std::nullopt;
        })
        .Case<tile::AddPtrOp, arith::AddIOp, arith::SubIOp, arith::MulIOp>(
            [&](Operation *op) { return combined(op); })
        .Case([&](arith::ShLIOp shift) -> Axes {
          return of(shift.getRhs()) == Axes(0) ? of(shift.getLhs())
                                               : std::nullopt;
        })
        .Case([&](tile::BitcastOp cast) -> Axes {
          return isSameSize(cast) ? of(cast.getSrc()) : std::nullopt;
        })
        .Case<arith::ExtSIOp, arith::ExtUIOp, tile::ConvertLayoutOp>(
            [&](Operation *op) { return of(op->getOperand(0)); })
        .Case<tile::TransOp, tile::ExpandDimsOp, tile::BroadcastOp>(
            [&](Operation *op) { return moved(op); })
        .Case([&](tile::ReshapeOp reshape) { return reshaped(reshape); })
        .Default([](Operation *) { return std::nullopt; });
  }

  // Returns the axes of a sum or product; nullopt if both operands vary along
  // one axis.
  Axes combined(Operation *op) {
    const Axes left = of(op->getOperand(0)), right = of(op->getOperand(1));
    if (!left || !right || (*left & *right))
      return std::nullopt;
    if (isa<arith::MulIOp>(op) && *left && *right)
      return std::nullopt;
    return *left | *right;
  }

  // True if a cast of pointers keeps the size of the pointee. Larger elements
  // at the same addresses may overlap.
  static bool isSameSize(tile::BitcastOp cast) {
    auto bits = [](Value v) -> unsigned {
      auto pointer = dyn_cast<tile::PtrType>(tile::elementType(v.getType()));
      return pointer && pointer.getPointee().isIntOrFloat()
                 ? pointer.getPointee().getIntOrFloatBitWidth()
                 : 0;
    };
    return bits(cast.getSrc()) && bits(cast.getSrc()) == bits(cast.getResult());
  }

  Axes moved(Operation *op) {
    const Axes from = of(op->getOperand(0));
    if (!from)
      return std::nullopt;
    uint64_t axes = 0;
    for (size_t d = 0; d < tile::shapeOf(op->getResult(0).getType()).size();
         ++d)
      if (auto source = sourceDim(op, int64_t(d));
          source && *from >> *source & 1)
        axes |= uint64_t(1) << d;
    return axes;
  }

  Axes reshaped(tile::ReshapeOp op) {
    if (isUnitReshape(op))
      return moved(op);
    const Axes from = of(op.getSrc());
    if (!from || !*from)
      return from;
    if (!coverAll(op.getSrc().getType(), *from))
      return std::nullopt;
    return (uint64_t(1) << tile::shapeOf(op.getType()).size()) - 1;
  }

public:
  // True if `axes` has every axis with more than one element.
  static bool coverAll(Type type, uint64_t axes) {
    for (auto [d, size] : llvm::enumerate(tile::shapeOf(type)))
      if (size > 1 && !(axes >> d & 1))
        return false;
    return true;
  }

private:
  llvm::DenseMap<Value, Axes> known;
  bool wrong = false;
};

} // namespace

SmallVector<KnownStep> knownSteps(Value pointers, Value mask) {
  return stepsAlong(pointers, ~uint64_t(0), mask);
}

bool areApart(SmallVector<KnownStep> steps) {
  // The order of equal sizes does not matter: the second fails the check.
  llvm::sort(steps, [](const KnownStep &a, const KnownStep &b) {
    return a.size < b.size;
  });
  std::optional<uint64_t> reach = 0;
  for (const KnownStep &step : steps) {
    if (!reach || step.size <= *reach)
      return false;
    if (step.repetitions)
      reach = *reach + step.size * uint64_t(*step.repetitions);
    else
      reach = std::nullopt;
  }
  return true;
}

bool hasDistinctElements(Value pointers) {
  VaryingAxes axes;
  const Axes varying = axes.of(pointers);
  return varying && VaryingAxes::coverAll(pointers.getType(), *varying) &&
         areApart(knownSteps(pointers));
}

} // namespace tessera::codegen
