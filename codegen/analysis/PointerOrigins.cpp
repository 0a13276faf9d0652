// codegen/analysis/PointerOrigins.cpp - which memory a pointer may point to.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/analysis/PointerOrigins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tessera::codegen {

using Values = llvm::SmallVector<Value, 2>;

static Values incomingOfArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (argument == loop.getInductionVar())
      return {};
    return {loop.getInitArgs()[number - 1],
            loop.getYieldedValues()[number - 1]};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    if (argument.getOwner() == loop.getBeforeBody())
      return {loop.getInits()[number], loop.getYieldOp().getOperand(number)};
    return {loop.getConditionOp().getArgs()[number]};
  }
  return {};
}

Values incomingValues(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return incomingOfArgument(argument);
  unsigned number = cast<OpResult>(value).getResultNumber();
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getInitArgs()[number], loop.getYieldedValues()[number]};
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.thenYield().getOperand(number),
            branch.elseYield().getOperand(number)};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getArgs()[number]};
  return {};
}

static bool isArgumentOfFunction(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

// Returns the pointer operands from which the elements of `pointer` derive;
// empty if its operation creates pointers from other values.
static Values pointersOf(Value pointer) {
  Operation *op = pointer.getDefiningOp();
  if (!op)
    return {};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return {select.getTrueValue(), select.getFalseValue()};
  if (isa<tile::AddPtrOp, tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp,
          tile::ReshapeOp, tile::TransOp, tile::SplitOp, tile::ConvertLayoutOp>(
          op))
    return {op->getOperand(0)};
  if (auto cast = dyn_cast<tile::BitcastOp>(op);
      cast && isa<tile::PtrType>(tile::elementType(cast.getSrc().getType())))
    return {cast.getSrc()};
  if (isa<tile::JoinOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  return {};
}

static llvm::SmallPtrSet<Value, 4> findOrigins(Value pointer) {
  llvm::SmallPtrSet<Value, 4> result;
  llvm::SmallPtrSet<Value, 16> seen;
  SmallVector<Value> work = {pointer};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Values sources = incomingValues(value);
    if (sources.empty())
      sources = pointersOf(value);
    if (sources.empty())
      result.insert(isArgumentOfFunction(value) ? value : Value());
    llvm::append_range(work, sources);
  }
  return result;
}

const llvm::SmallPtrSet<Value, 4> &PointerOrigins::of(Value pointer) {
  auto [place, added] = known.try_emplace(pointer);
  if (added)
    place->second = findOrigins(pointer);
  return place->second;
}

bool PointerOrigins::mayAlias(Value a, Value b) {
  if (!a || !b)
    return true;
  llvm::SmallPtrSet<Value, 4> left = of(a), right = of(b);
  if (left.contains(Value()) || right.contains(Value()))
    return true;
  return llvm::any_of(left, [&](Value each) { return right.contains(each); });
}

static bool isView(Operation *op) {
  return isa<tile::SmemIndexOp, tile::SmemTransOp>(op);
}

tile::SmemAllocOp sharedBufferOf(Value buffer) {
  Operation *op = buffer.getDefiningOp();
  while (op && isView(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<tile::SmemAllocOp>(op);
}

SmallVector<Operation *> usersOfBuffer(tile::SmemAllocOp alloc) {
  SmallVector<Operation *> users;
  SmallVector<Value> views = {alloc.getResult()};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isView(user))
        views.push_back(user->getResult(0));
      else
        users.push_back(user);
    }
  return users;
}

} // namespace tessera::codegen
