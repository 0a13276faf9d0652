// codegen/cpu/plan/PlanPairs.cpp - plans the packed copies of bf16 operands of
// dots.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// vdpbf16ps multiplies two neighbours along K at once. They are adjacent in the
// rows of a left operand. A right operand, or a left operand that is read
// transposed, needs a packed copy. The copy is written once, where the value is
// computed, and serves all dots that read it:
//
//     [K, columns] of bf16         [K / 2, columns] of i32
//     a0 b0 c0 ...                 a0|a1 b0|b1 c0|c1 ...
//     a1 b1 c1 ...
#include "codegen/cpu/plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// The shortest vector of the instruction has four lanes.
static constexpr int64_t kLeastColumns = 4;

static bool multipliesBf16(tile::DotOp op) {
  return tile::elementType(op.getA().getType()).isBF16();
}

bool canPair(tile::DotOp op) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType());
  return multipliesBf16(op) &&
         tile::elementType(op.getB().getType()).isBF16() &&
         tile::elementType(op.getType()).isF32() && shape.size() == 2 &&
         shape[1] >= kLeastColumns &&
         tile::shapeOf(op.getA().getType())[1] % 2 == 0;
}

// True if the packed copy is written at the operation that computes `value`.
static bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isa<arith::ConstantOp>(op) && canBeVirtual(op);
}

// Returns the value to pack for `use`, an operand of a dot: the operand or the
// source of its transposition. Null if none is packed.
static Value packedSource(OpOperand &use) {
  auto dot = dyn_cast<tile::DotOp>(use.getOwner());
  if (!dot || !canPair(dot) || use.getOperandNumber() > 1)
    return {};
  Value value = use.get();
  if (use.getOperandNumber() == 0) {
    auto trans = value.getDefiningOp<tile::TransOp>();
    if (!trans || trans.getOrder()[0] != 1)
      return {};
    value = trans.getSrc();
  }
  return isComputed(value) ? value : Value();
}

void Plan::choosePacked(func::FuncOp function) {
  SmallVector<tile::DotOp> dots;
  function.walk([&](tile::DotOp dot) {
    if (multipliesBf16(dot))
      dots.push_back(dot);
  });
  // One buffer may serve several dots, so all use the same form.
  inPairs &= !dots.empty() && llvm::all_of(dots, canPair);
  if (!inPairs)
    return;
  for (tile::DotOp dot : dots)
    for (unsigned i : {0, 1})
      if (Value source = packedSource(dot->getOpOperand(i));
          source && !(i == 1 && readsInPlace(dot)))
        packed[source] = -1;
}

bool Plan::readsPacked(OpOperand &use) const {
  if (!inPairs)
    return false;
  Value source = packedSource(use);
  return source && packed.contains(source);
}

void Plan::assignPacked(func::FuncOp function) {
  if (!inPairs)
    return;
  MLIRContext *context = function.getContext();
  auto add = [&](Value value, int64_t first, int64_t last) {
    ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
    Buffer buffer;
    buffer.shape = {shape[0] / 2, shape[1]};
    buffer.stored = IntegerType::get(context, 32);
    return addBuffer(std::move(buffer), first, last);
  };
  // In program order, so that the placement is deterministic.
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults()) {
      if (!packed.contains(value))
        continue;
      int64_t last = 0;
      SmallVector<Value> views = {value};
      for (Operation *user : value.getUsers())
        if (auto trans = dyn_cast<tile::TransOp>(user))
          views.push_back(trans);
      for (Value view : views)
        for (OpOperand &use : view.getUses())
          if (readsPacked(use) && packedSource(use) == value) {
            Operation *here =
                op->getBlock()->findAncestorOpInBlock(*use.getOwner());
            last = std::max(last, numbers.lookup(here).second);
          }
      packed[value] = add(value, numbers.lookup(op).first, last);
    }
    if (auto dot = dyn_cast<tile::DotOp>(op);
        dot && canPair(dot) && !readsPacked(dot->getOpOperand(1)) &&
        !readsInPlace(dot)) {
      int64_t at = numbers.lookup(op).first;
      packedThere[op] = add(dot.getB(), at, at);
    }
  });
}

} // namespace tessera::codegen::cpu
