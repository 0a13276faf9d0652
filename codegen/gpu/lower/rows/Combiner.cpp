// codegen/gpu/lower/rows/Combiner.cpp - combines two parts of a row.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/rows/Combiner.h"

#include "codegen/gpu/kernel/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace tessera::codegen::gpu {

using tile::ReduceKind;

static bool isArgKind(ReduceKind kind) {
  return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
}

// True if the region is one operation on both arguments that commutes bit for
// bit. A float sum does not count: a product could be fused on one side only.
static bool commutes(Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() != 2 ||
      !llvm::hasNItems(block.getOperations(), 2))
    return false;
  Operation &only = block.front();
  if (!isa<arith::MulFOp, arith::MulIOp, arith::AddIOp, arith::AndIOp,
           arith::OrIOp, arith::XOrIOp, arith::MaxSIOp, arith::MinSIOp,
           arith::MaxUIOp, arith::MinUIOp, arith::MaxNumFOp, arith::MinNumFOp>(
          only))
    return false;
  auto uses = [&](unsigned a, unsigned b) {
    return only.getOperand(0) == block.getArgument(a) &&
           only.getOperand(1) == block.getArgument(b);
  };
  return (uses(0, 1) || uses(1, 0)) &&
         block.getTerminator()->getOperand(0) == only.getResult(0);
}

bool isOrderedCombination(Operation *op) {
  if (isa<tile::ScanOp, tile::ScanByOp>(op))
    return true;
  return isa<tile::ReduceByOp>(op) && !commutes(op->getRegion(0));
}

int axisOfCombination(Operation *op) {
  return llvm::TypeSwitch<Operation *, int>(op)
      .Case<tile::ReduceOp, tile::ReduceByOp, tile::ScanOp, tile::ScanByOp>(
          [](auto each) { return int(each.getAxis()); })
      .Default(0);
}

llvm::SmallVector<Type> partTypes(Operation *op) {
  llvm::SmallVector<Type> types;
  for (Value source : op->getOperands())
    types.push_back(tile::elementType(source.getType()));
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    if (isArgKind(reduce.getKind()))
      types.push_back(IntegerType::get(op->getContext(), 32));
  return types;
}

Combiner::Combiner(Emitter &e, Operation *op)
    : e(e), op(op), isOrdered(isOrderedCombination(op)),
      axisNumber(axisOfCombination(op)), elements(partTypes(op)) {
  if (op->getNumRegions())
    region = &op->getRegion(0);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    kind = reduce.getKind();
  if (auto scan = dyn_cast<tile::ScanByOp>(op))
    isReverse = scan.getReverse();
  if (auto scan = dyn_cast<tile::ScanOp>(op)) {
    isReverse = scan.getReverse();
    switch (scan.getKind()) {
    case tile::ScanKind::Sum:
      kind = ReduceKind::Sum;
      break;
    case tile::ScanKind::Prod:
      isProduct = true;
      break;
    case tile::ScanKind::Max:
      kind = ReduceKind::Max;
      break;
    case tile::ScanKind::Min:
      kind = ReduceKind::Min;
      break;
    }
  }
}

bool Combiner::isArg() const { return isArgKind(kind); }

llvm::Value *Combiner::combineKind(llvm::Value *x, llvm::Value *y, bool fuse) {
  auto &b = e.b;
  llvm::Type *type = x->getType();
  bool real = type->isFloatingPointTy();
  auto intrinsic = [&](llvm::Intrinsic::ID id) {
    return b.CreateBinaryIntrinsic(id, x, y);
  };
  if (isProduct && !real)
    return b.CreateMul(x, y);
  if (isProduct || (kind == ReduceKind::Sum && real)) {
    // bf16 is computed in f32 and rounded once (docs/numerics.md).
    bool narrow = type->isBFloatTy();
    if (narrow) {
      x = b.CreateFPExt(x, b.getFloatTy());
      y = b.CreateFPExt(y, b.getFloatTy());
    }
    llvm::Value *sum = isProduct ? b.CreateFMul(x, y) : b.CreateFAdd(x, y);
    if (fuse && type->isFloatTy() && mayContract(op))
      if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(sum))
        instruction->setHasAllowContract(true);
    return narrow ? b.CreateFPTrunc(sum, type) : sum;
  }
  switch (kind) {
  case ReduceKind::Sum:
    return b.CreateAdd(x, y);
  case ReduceKind::Max:
    return intrinsic(real ? llvm::Intrinsic::maxnum : llvm::Intrinsic::smax);
  case ReduceKind::Min:
    return intrinsic(real ? llvm::Intrinsic::minnum : llvm::Intrinsic::smin);
  case ReduceKind::UMax:
    return intrinsic(llvm::Intrinsic::umax);
  case ReduceKind::UMin:
    return intrinsic(llvm::Intrinsic::umin);
  case ReduceKind::And:
    return b.CreateAnd(x, y);
  case ReduceKind::Or:
    return b.CreateOr(x, y);
  case ReduceKind::Xor:
    return b.CreateXor(x, y);
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    break;
  }
  llvm_unreachable("combineArg does these");
}

// Selects y if it is better, if it is equal and has the lower index, or if only
// x is NaN. Two NaNs count as equal, so that the order does not matter.
Registers Combiner::combineArg(const Registers &x, const Registers &y) {
  auto &b = e.b;
  bool largest = kind == ReduceKind::ArgMax;
  llvm::Value *better, *equal;
  if (x[0]->getType()->isFloatingPointTy()) {
    llvm::Value *xIsNan = b.CreateFCmpUNO(x[0], x[0]);
    llvm::Value *yIsNan = b.CreateFCmpUNO(y[0], y[0]);
    better =
        largest ? b.CreateFCmpOGT(y[0], x[0]) : b.CreateFCmpOLT(y[0], x[0]);
    better = b.CreateOr(better, b.CreateAnd(xIsNan, b.CreateNot(yIsNan)));
    equal =
        b.CreateOr(b.CreateFCmpOEQ(y[0], x[0]), b.CreateAnd(xIsNan, yIsNan));
  } else {
    better =
        largest ? b.CreateICmpSGT(y[0], x[0]) : b.CreateICmpSLT(y[0], x[0]);
    equal = b.CreateICmpEQ(y[0], x[0]);
  }
  llvm::Value *take =
      b.CreateOr(better, b.CreateAnd(equal, b.CreateICmpSLT(y[1], x[1])));
  return {b.CreateSelect(take, y[0], x[0]), b.CreateSelect(take, y[1], x[1])};
}

Registers Combiner::combineRegion(const Registers &x, const Registers &y) {
  Block &block = region->front();
  for (auto [index, argument] : llvm::enumerate(block.getArguments()))
    e.set(argument, {index < x.size() ? x[index] : y[index - x.size()]});
  e.emitBlock(block);
  Registers results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(e.scalar(value));
  return results;
}

Registers Combiner::combine(const Registers &first, const Registers &second,
                            bool fuse) {
  if (region)
    return combineRegion(first, second);
  if (isArg())
    return combineArg(first, second);
  return {combineKind(first[0], second[0], fuse)};
}

Registers Combiner::combineAll(llvm::ArrayRef<Registers> parts) {
  llvm::SmallVector<Registers> level(parts);
  while (level.size() > 1) {
    llvm::SmallVector<Registers> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(combine(level[i], level[i + 1]));
    level = std::move(next);
  }
  return level.front();
}

Registers Combiner::reduceWarp(const Registers &part) {
  if (region || isProduct || isArg() || !part[0]->getType()->isIntegerTy(32))
    return {};
  auto id = [&]() -> llvm::Intrinsic::ID {
    using namespace llvm::Intrinsic;
    switch (kind) {
    case ReduceKind::Sum:
      return nvvm_redux_sync_add;
    case ReduceKind::Max:
      return nvvm_redux_sync_max;
    case ReduceKind::Min:
      return nvvm_redux_sync_min;
    case ReduceKind::UMax:
      return nvvm_redux_sync_umax;
    case ReduceKind::UMin:
      return nvvm_redux_sync_umin;
    case ReduceKind::And:
      return nvvm_redux_sync_and;
    case ReduceKind::Or:
      return nvvm_redux_sync_or;
    case ReduceKind::Xor:
      return nvvm_redux_sync_xor;
    default:
      return not_intrinsic;
    }
  }();
  return {e.intrinsic(id, {part[0], e.i32(-1)})};
}

} // namespace tessera::codegen::gpu
