// codegen/cpu/Atomic.cpp - emits atomic operations, one element at a time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

static LLVM::AtomicBinOp binaryOf(tile::AtomicKind kind) {
  switch (kind) {
  case tile::AtomicKind::Add:
    return LLVM::AtomicBinOp::add;
  case tile::AtomicKind::FAdd:
    return LLVM::AtomicBinOp::fadd;
  case tile::AtomicKind::Max:
    return LLVM::AtomicBinOp::max;
  case tile::AtomicKind::Min:
    return LLVM::AtomicBinOp::min;
  case tile::AtomicKind::UMax:
    return LLVM::AtomicBinOp::umax;
  case tile::AtomicKind::UMin:
    return LLVM::AtomicBinOp::umin;
  case tile::AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case tile::AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case tile::AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  case tile::AtomicKind::Xchg:
    return LLVM::AtomicBinOp::xchg;
  case tile::AtomicKind::FMax:
    return LLVM::AtomicBinOp::fmax;
  case tile::AtomicKind::FMin:
    return LLVM::AtomicBinOp::fmin;
  }
  return LLVM::AtomicBinOp::xchg;
}

// Emits an atomic on a 16-bit float: repeats compare-and-swap of its bits until
// no other thread interferes.
Value Emitter::atomicLoop(tile::AtomicKind kind, Value address, Value operand,
                          Type element) {
  Type bits = b.getI16Type();
  Value first = LLVM::LoadOp::create(b, loc, bits, address, 2);
  auto attempt = scf::WhileOp::create(
      b, loc, TypeRange(bits), ValueRange(first),
      [&](OpBuilder &, Location, ValueRange in) {
        Value old = lanes.widenBits(element, in[0]);
        Value next;
        if (kind == tile::AtomicKind::FAdd)
          next = lanes.roundTo(element,
                               arith::AddFOp::create(b, loc, old, operand));
        else if (kind == tile::AtomicKind::FMax)
          next = arith::MaxNumFOp::create(b, loc, old, operand);
        else if (kind == tile::AtomicKind::FMin)
          next = arith::MinNumFOp::create(b, loc, old, operand);
        else
          next = operand;
        Value pair = LLVM::AtomicCmpXchgOp::create(
            b, loc, address, in[0], lanes.narrowBits(element, next),
            LLVM::AtomicOrdering::acq_rel, LLVM::AtomicOrdering::acquire);
        Value seen =
            LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
        Value done =
            LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{1});
        Value again = arith::XOrIOp::create(b, loc, done,
                                            lanes.integer(b.getI1Type(), 1));
        scf::ConditionOp::create(b, loc, again, ValueRange(seen));
      },
      [&](OpBuilder &, Location, ValueRange in) {
        scf::YieldOp::create(b, loc, in);
      });
  return lanes.widenBits(element, attempt.getResult(0));
}

Value Emitter::atomicElement(Operation *op, Value address, ValueRange operands,
                             Type element) {
  bool narrow = element.isF16() || element.isBF16();
  if (isa<tile::AtomicCASOp>(op)) {
    Value expected = operands[0], desired = operands[1];
    Type bits =
        IntegerType::get(b.getContext(), element.getIntOrFloatBitWidth());
    auto toBits = [&](Value value) -> Value {
      if (narrow)
        return lanes.narrowBits(element, value);
      return isa<FloatType>(element)
                 ? Value(arith::BitcastOp::create(b, loc, bits, value))
                 : value;
    };
    Value pair = LLVM::AtomicCmpXchgOp::create(
        b, loc, address, toBits(expected), toBits(desired),
        LLVM::AtomicOrdering::acq_rel, LLVM::AtomicOrdering::acquire);
    Value old =
        LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
    if (narrow)
      return lanes.widenBits(element, old);
    return isa<FloatType>(element)
               ? Value(arith::BitcastOp::create(b, loc, element, old))
               : old;
  }
  tile::AtomicKind kind = cast<tile::AtomicRMWOp>(op).getKind();
  if (narrow)
    return atomicLoop(kind, address, operands[0], element);
  if (element.isInteger(1))
    unsupported(op, "an atomic on i1");
  return LLVM::AtomicRMWOp::create(b, loc, binaryOf(kind), address, operands[0],
                                   LLVM::AtomicOrdering::acq_rel);
}

void Emitter::emitAtomic(Operation *op) {
  Value result = op->getResult(0);
  Type element = tile::elementType(result.getType());
  Value mask;
  SmallVector<Value> inputs;
  if (auto rmw = dyn_cast<tile::AtomicRMWOp>(op)) {
    mask = rmw.getMask();
    inputs = {rmw.getValue()};
  } else {
    auto cas = cast<tile::AtomicCASOp>(op);
    inputs = {cas.getExpected(), cas.getDesired()};
  }
  bool isTensor = isa<RankedTensorType>(result.getType());
  ArrayRef<int64_t> shape = tile::shapeOf(result.getType());
  bool used = !result.use_empty();
  Index index;
  auto element1 = [&](const Index &at) {
    Value address = lanes.firstAddress(evaluate(op->getOperand(0), at));
    SmallVector<Value> operands;
    for (Value input : inputs)
      operands.push_back(lanes.vector(evaluate(input, at), 1));
    Value on = mask ? lanes.vector(evaluate(mask, at), 1) : Value();
    loc = op->getLoc();
    Value old;
    if (!on) {
      old = atomicElement(op, address, operands, element);
    } else {
      auto branch =
          scf::IfOp::create(b, loc, TypeRange(registerType(element)), on, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      scf::YieldOp::create(b, loc,
                           atomicElement(op, address, operands, element));
      b.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(b, loc, lanes.zero(registerType(element)));
      old = branch.getResult(0);
    }
    if (!isTensor)
      scalars[result] = old;
    else if (used)
      storeLanes(viewOf(plan.bufferOf(result)), at, element,
                 Lanes::uniform(old));
  };
  // Evaluation of a scalar must not share the memo of nests.
  nest(shape, -1, 1, element1);
}

} // namespace tessera::codegen::cpu
