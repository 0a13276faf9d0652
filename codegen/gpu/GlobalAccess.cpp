// codegen/gpu/GlobalAccess.cpp - accesses of global memory and their order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/GlobalAccess.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tessera::codegen::gpu {

Value writtenPointer(Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getPtr();
  if (auto atomic = dyn_cast<tile::AtomicRMWOp>(op))
    return atomic.getPtr();
  if (auto atomic = dyn_cast<tile::AtomicCASOp>(op))
    return atomic.getPtr();
  return {};
}

// Without `sem` an atomic does both.
static bool hasOrder(Operation *op, StringRef order) {
  if (!isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
    return false;
  auto sem = op->getAttrOfType<StringAttr>("sem");
  return !sem || sem.getValue() == order || sem.getValue() == "acq_rel";
}

bool releases(Operation *op) { return hasOrder(op, "release"); }

bool acquires(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getIsVolatile();
  return hasOrder(op, "acquire") && !op->use_empty();
}

// Where the pointer that enters a block may come from.
static void followArgument(BlockArgument argument, SmallVectorImpl<Value> &work,
                           llvm::SmallPtrSet<Value, 4> &result) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    // The first is the counter.
    work.push_back(loop.getInitArgs()[number - 1]);
    work.push_back(loop.getYieldedValues()[number - 1]);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    if (argument.getOwner() == loop.getBeforeBody()) {
      work.push_back(loop.getInits()[number]);
      work.push_back(loop.getYieldOp().getOperand(number));
    } else {
      work.push_back(loop.getConditionOp().getArgs()[number]);
    }
  } else if (isa<func::FuncOp>(parent)) {
    result.insert(argument);
  } else {
    result.insert(Value());
  }
}

static llvm::SmallPtrSet<Value, 4> findOrigins(Value pointer) {
  llvm::SmallPtrSet<Value, 4> result;
  llvm::SmallPtrSet<Value, 16> seen;
  SmallVector<Value> work = {pointer};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      followArgument(argument, work, result);
      continue;
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      work.push_back(select.getTrueValue());
      work.push_back(select.getFalseValue());
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      work.push_back(loop.getInitArgs()[number]);
      work.push_back(loop.getYieldedValues()[number]);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      work.push_back(branch.thenYield().getOperand(number));
      work.push_back(branch.elseYield().getOperand(number));
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      work.push_back(loop.getConditionOp().getArgs()[number]);
    } else if (isa<tile::AddPtrOp, tile::SplatOp, tile::ExpandDimsOp,
                   tile::BroadcastOp, tile::ReshapeOp, tile::TransOp,
                   tile::SplitOp, tile::ConvertLayoutOp>(op)) {
      work.push_back(op->getOperand(0));
    } else if (auto cast = dyn_cast<tile::BitcastOp>(op);
               cast &&
               isa<tile::PtrType>(tile::elementType(cast.getSrc().getType()))) {
      work.push_back(cast.getSrc());
    } else if (isa<tile::JoinOp>(op)) {
      llvm::append_range(work, op->getOperands());
    } else {
      result.insert(Value());
    }
  }
  return result;
}

const llvm::SmallPtrSet<Value, 4> &Origins::of(Value pointer) {
  auto [place, added] = known.try_emplace(pointer);
  if (added)
    place->second = findOrigins(pointer);
  return place->second;
}

bool Origins::meet(Value a, Value b) {
  llvm::SmallPtrSet<Value, 4> left = of(a), right = of(b);
  if (left.contains(Value()) || right.contains(Value()))
    return true;
  return llvm::any_of(left, [&](Value each) { return right.contains(each); });
}

} // namespace tessera::codegen::gpu
