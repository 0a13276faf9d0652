// codegen/analysis/LoopSteps.cpp - whether addresses of iterations differ.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/LoopSteps.h"

#include "codegen/analysis/DistinctElements.h"
#include "codegen/analysis/Stride.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen {

namespace {

// The amount by which each iteration of a loop changes a value, if it is the
// same for all elements and iterations.
struct Step {
  enum Kind { Known, Stride, Unknown } kind = Unknown;
  int64_t size = 0; // only for Known; a Stride is a run-time value

  static Step known(int64_t size) { return {Known, size}; }
  bool isZero() const { return kind == Known && !size; }
};

Step sum(Step a, Step b, int64_t sign) {
  if (a.kind == Step::Unknown || b.kind == Step::Unknown)
    return {};
  if (a.kind == Step::Stride || b.kind == Step::Stride)
    return {Step::Stride};
  return Step::known(a.size + sign * b.size);
}

// Returns the step of a product with a loop-invariant factor; nullopt means an
// unknown factor.
Step times(Step step, std::optional<int64_t> factor) {
  if (step.kind != Step::Known || !step.size)
    return step;
  return factor ? Step::known(step.size * *factor) : Step{Step::Stride};
}

class StepOf {
public:
  explicit StepOf(LoopLikeOpInterface loop) : loop(loop) {}

  Step of(Value value) {
    if (!loop->isAncestor(value.getParentRegion()->getParentOp()))
      return Step::known(0);
    if (auto found = known.find(value); found != known.end())
      return found->second;
    auto argument = dyn_cast<BlockArgument>(value);
    const Step step =
        argument ? ofArgument(argument) : ofResult(value.getDefiningOp());
    known[value] = step;
    return step;
  }

private:
  Step ofArgument(BlockArgument argument) {
    auto owner = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!owner)
      return {};
    const bool isCounter = argument == owner.getInductionVar();
    if (owner != loop)
      return isCounter ? of(owner.getLowerBound())
                       : of(owner.getTiedLoopInit(argument)->get());
    if (!isCounter)
      return ofCarried(owner.getTiedLoopYieldedValue(argument)->get(),
                       argument);
    auto step = constantOf(owner.getStep());
    return step ? Step::known(*step) : Step{Step::Stride};
  }

  // Returns the step of a loop-carried value: the loop-invariant number that an
  // iteration adds to `argument` to compute `yielded`.
  Step ofCarried(Value yielded, BlockArgument argument) {
    Operation *op = yielded.getDefiningOp();
    if (yielded == argument)
      return Step::known(0);
    if (!isa_and_nonnull<tile::AddPtrOp, arith::AddIOp>(op) ||
        op->getOperand(0) != argument || !of(op->getOperand(1)).isZero())
      return {};
    auto more = constantOf(op->getOperand(1));
    return more ? Step::known(*more) : Step{Step::Stride};
  }

  Step ofResult(Operation *op) {
    return llvm::TypeSwitch<Operation *, Step>(op)
        .Case<tile::AddPtrOp, arith::AddIOp>([&](Operation *op) {
          return sum(of(op->getOperand(0)), of(op->getOperand(1)), 1);
        })
        .Case([&](arith::SubIOp op) {
          return sum(of(op.getLhs()), of(op.getRhs()), -1);
        })
        .Case([&](arith::MulIOp op) {
          const Step left = of(op.getLhs()), right = of(op.getRhs());
          if (right.isZero())
            return times(left, constantOf(op.getRhs()));
          return left.isZero() ? times(right, constantOf(op.getLhs())) : Step();
        })
        .Case<arith::ExtSIOp, arith::ExtUIOp, tile::SplatOp, tile::ExpandDimsOp,
              tile::BroadcastOp, tile::ReshapeOp, tile::TransOp,
              tile::ConvertLayoutOp>(
            [&](Operation *op) { return of(op->getOperand(0)); })
        .Default([&](Operation *op) { return unchanged(op); });
  }

  // Returns a step of 0 if `op` is pure and no operand changes: its result is
  // then the same in each iteration.
  Step unchanged(Operation *op) {
    if (op->getNumRegions() || !isPure(op))
      return {};
    for (Value operand : op->getOperands())
      if (!of(operand).isZero())
        return {};
    return Step::known(0);
  }

  LoopLikeOpInterface loop;
  llvm::DenseMap<Value, Step> known;
};

// Returns an upper bound on how often a loop repeats; nullopt if it is not
// constant.
std::optional<int64_t> repetitions(LoopLikeOpInterface loop) {
  auto counted = dyn_cast<scf::ForOp>(loop.getOperation());
  if (!counted)
    return std::nullopt;
  auto first = constantOf(counted.getLowerBound()),
       end = constantOf(counted.getUpperBound()),
       step = constantOf(counted.getStep());
  if (!first || !end || !step || *step <= 0)
    return std::nullopt;
  return std::max<int64_t>(0, (*end - *first - 1) / *step);
}

} // namespace

bool iterationsStayApart(Operation *op, Value pointers) {
  assert(op && pointers && "the access has a pointer");
  if (!hasDistinctElements(pointers))
    return false;
  auto store = dyn_cast<tile::StoreOp>(op);
  SmallVector<KnownStep> steps =
      knownSteps(pointers, store ? store.getMask() : Value());
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    const Step step = StepOf(loop).of(pointers);
    if (step.kind == Step::Unknown)
      return false;
    if (step.kind == Step::Known && step.size)
      steps.push_back({uint64_t(std::abs(step.size)), repetitions(loop)});
  }
  return areApart(steps);
}

} // namespace tessera::codegen
