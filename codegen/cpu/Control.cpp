// codegen/cpu/Control.cpp - emits the kernel in program order: blocks, ifs and
// loops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "codegen/SourceLines.h"
#include "support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::codegen::cpu {

void Emitter::unsupported(Operation *op, const std::string &what) {
  throw Error(
      whereOf(op->getLoc()) + ": error: the CPU target cannot compile " + what +
          " (" + op->getName().getStringRef().str() + ")",
      "rewrite the expression, or compile this kernel for a GPU target");
}

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

Value Emitter::scalar(Value value) {
  auto it = scalars.find(value);
  if (it == scalars.end()) {
    if (Operation *op = value.getDefiningOp())
      unsupported(op, "this value");
    throw Error("a kernel argument has no value", "report this kernel");
  }
  return it->second;
}

void Emitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    emitOperation(&op);
}

void Emitter::emitOperation(Operation *op) {
  loc = op->getLoc();
  if (auto loopOp = dyn_cast<scf::ForOp>(op))
    return emitFor(loopOp);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitIf(branch);
  if (auto loopOp = dyn_cast<scf::WhileOp>(op))
    return emitWhile(loopOp);
  if (auto storeOp = dyn_cast<tile::StoreOp>(op))
    return emitStore(storeOp);
  if (isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
    return emitAtomic(op);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return emitReduce(reduce);
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return emitScan(scan);
  if (auto histogram = dyn_cast<tile::HistogramOp>(op))
    return emitHistogram(histogram);
  if (isa<tile::ReduceByOp, tile::ScanByOp>(op))
    return emitCombine(op);
  if (auto sort = dyn_cast<tile::SortOp>(op))
    return emitSort(sort);
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return emitDot(dot);
  if (isa<tile::AssumeOp, tile::BarrierOp>(op))
    return;
  if (auto print = dyn_cast<tile::PrintOp>(op))
    return emitPrint(print);
  if (auto claim = dyn_cast<tile::AssertOp>(op))
    return emitAssert(claim);
  if (op->getNumRegions())
    unsupported(op, "this control flow");
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return emitConstant(constantOp);
  if (!touchesTensors(op))
    return emitScalar(op);
  for (Value result : op->getResults()) {
    if (int id = plan.bufferOf(result); id >= 0)
      materialize(result, viewOf(id));
    if (int id = plan.packedOf(result); id >= 0)
      pack(result, viewOf(id));
  }
}

void Emitter::emitConstant(arith::ConstantOp op) {
  if (!isTensor(op)) {
    if (isa<IndexType>(op.getType()))
      unsupported(op, "a value of type index");
    scalars[op] = constant(op.getValue(), op.getType());
    return;
  }
  int id = plan.bufferOf(op);
  if (id < 0)
    return;
  auto dense = cast<DenseElementsAttr>(op.getValue());
  Type element = dense.getElementType();
  View view = viewOf(id);
  if (dense.isSplat())
    return materialize(op, view);
  int64_t bytes = view.stored.getIntOrFloatBitWidth() / 8, offset = 0;
  for (Attribute each : dense.getValues<Attribute>()) {
    storeView(view, lanes.byteOffset(view.address, lanes.i64(offset)),
              toStored(view, element, constant(each, element)));
    offset += bytes;
  }
}

void Emitter::emitScalar(Operation *op) {
  auto program = [&](Value array, uint32_t axis) -> Value {
    Value address = lanes.byteOffset(array, lanes.i64(4 * axis));
    return LLVM::LoadOp::create(b, loc, b.getI32Type(), address, 4);
  };
  if (auto id = dyn_cast<tile::ProgramIdOp>(op)) {
    scalars[id] = program(pid, id.getAxis());
    return;
  }
  if (auto number = dyn_cast<tile::NumProgramsOp>(op)) {
    scalars[number] = program(grid, number.getAxis());
    return;
  }
  if (auto loadOp = dyn_cast<tile::LoadOp>(op)) {
    Value held = load(loadOp, Index()).value;
    if (isa<tile::PtrType>(loadOp.getType()))
      held = lanes.absolute(held);
    scalars[loadOp] = held;
    return;
  }
  if (isa<tile::AddPtrOp>(op)) {
    Lanes pointer = evaluate(op->getOperand(0), Index());
    Lanes moved = evaluateAddPtr(op, pointer, evaluate(op->getOperand(1), {}));
    scalars[op->getResult(0)] = lanes.firstAddress(moved);
    return;
  }
  if (!isElementwise(op))
    unsupported(op, "this operation");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalar(operand));
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    scalars[op->getResult(i)] = apply(op, i, operands);
}

// Replaces all loop-carried values at once. A next value whose buffer is
// overwritten by another next value is first copied to a parking buffer.
void Emitter::emitYield(scf::ForOp loopOp) {
  auto yield = cast<scf::YieldOp>(loopOp.getBody()->getTerminator());
  for (bool park : {true, false})
    for (unsigned i = 0; i < yield.getNumOperands(); ++i) {
      Value value = yield.getOperand(i);
      if (!isTensor(value))
        continue;
      int target = plan.carriedBuffer(loopOp, i);
      int source = plan.bufferOf(value);
      int parking = plan.parkingBuffer(loopOp, i);
      if (source == target || (park && parking < 0))
        continue;
      if (parking < 0)
        deliver(value, viewOf(target));
      else if (park)
        copy(viewOf(source), viewOf(parking), value.getType());
      else
        copy(viewOf(parking), viewOf(target), value.getType());
    }
}

// Returns how many of lower, lower + step, ... are less than upper, at most
// 2^63 - 1; no loop reaches that many iterations. `step` is at least 1.
Value Emitter::countIterations(Value lower, Value upper, Value step) {
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, lower,
                                    upper),
        one = lanes.i64(1), zero = lanes.i64(0);
  Value distance = arith::SubIOp::create(
      b, loc, arith::SubIOp::create(b, loc, upper, lower), one);
  Value more = arith::DivUIOp::create(
      b, loc, distance, arith::MaxUIOp::create(b, loc, step, one));
  Value most = lanes.i64(INT64_MAX - 1);
  Value iterations = arith::AddIOp::create(
      b, loc, arith::MinUIOp::create(b, loc, more, most), one);
  return arith::SelectOp::create(b, loc, any, iterations, zero);
}

void Emitter::emitFor(scf::ForOp loopOp) {
  SmallVector<Value> init;
  for (auto [i, value] : llvm::enumerate(loopOp.getInitArgs())) {
    if (!isTensor(value)) {
      init.push_back(scalar(value));
      continue;
    }
    int target = plan.carriedBuffer(loopOp, i);
    if (plan.bufferOf(value) != target)
      deliver(value, viewOf(target));
  }
  loc = loopOp.getLoc();
  if (isa<IndexType>(loopOp.getInductionVar().getType()))
    unsupported(loopOp, "a loop over values of type index");
  // Counts in 64 bits, because the last sum may not fit into 32.
  Type counter = loopOp.getInductionVar().getType();
  auto bound = [&](Value value) -> Value {
    return counter.getIntOrFloatBitWidth() < 64
               ? b.createOrFold<arith::ExtSIOp>(loc, b.getI64Type(),
                                                scalar(value))
               : scalar(value);
  };
  Value lower = bound(loopOp.getLowerBound()),
        upper = bound(loopOp.getUpperBound()), step = bound(loopOp.getStep());
  Value first = lower, between = step;
  // No wider type holds 64-bit sums, so such a loop counts its iterations.
  const bool counted =
      counter.getIntOrFloatBitWidth() == 64 && !matchPattern(step, m_One());
  if (counted) {
    upper = countIterations(lower, upper, step);
    lower = lanes.i64(0);
    step = lanes.i64(1);
  }
  auto made = scf::ForOp::create(b, loc, lower, upper, step, init);
  loops[loopOp] = made;
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = made.getBody();
    if (!body->empty())
      body->getTerminator()->erase();
    b.setInsertionPointToStart(body);
    Value number = made.getInductionVar();
    if (counted)
      number = arith::AddIOp::create(
          b, loc, first, arith::MulIOp::create(b, loc, number, between));
    if (number.getType() != counter)
      number = arith::TruncIOp::create(b, loc, counter, number);
    scalars[loopOp.getInductionVar()] = number;
    unsigned next = 0;
    for (Value argument : loopOp.getRegionIterArgs())
      if (!isTensor(argument))
        scalars[argument] = made.getRegionIterArg(next++);
    emitBlock(*loopOp.getBody());
    loc = loopOp.getLoc();
    emitYield(loopOp);
    SmallVector<Value> yielded;
    for (Value value : loopOp.getBody()->getTerminator()->getOperands())
      if (!isTensor(value))
        yielded.push_back(scalar(value));
    scf::YieldOp::create(b, loc, yielded);
  }
  unsigned next = 0;
  for (Value result : loopOp.getResults())
    if (!isTensor(result))
      scalars[result] = made.getResult(next++);
}

void Emitter::emitIf(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Value result : branch.getResults())
    if (!isTensor(result))
      types.push_back(registerType(result.getType()));
  bool otherwise = !branch.getElseRegion().empty();
  auto made = scf::IfOp::create(b, loc, types, scalar(branch.getCondition()),
                                otherwise);
  auto fill = [&](Region &from, Region &to) {
    OpBuilder::InsertionGuard guard(b);
    Block &block = to.front();
    if (!block.empty())
      block.back().erase();
    b.setInsertionPointToStart(&block);
    emitBlock(from.front());
    loc = branch.getLoc();
    SmallVector<Value> yielded;
    for (auto [value, result] : llvm::zip(
             from.front().getTerminator()->getOperands(), branch.getResults()))
      if (!isTensor(value))
        yielded.push_back(scalar(value));
      else if (plan.bufferOf(value) != plan.bufferOf(result))
        deliver(value, viewOf(plan.bufferOf(result)));
    scf::YieldOp::create(b, branch.getLoc(), yielded);
  };
  fill(branch.getThenRegion(), made.getThenRegion());
  if (otherwise)
    fill(branch.getElseRegion(), made.getElseRegion());
  unsigned next = 0;
  for (Value result : branch.getResults())
    if (!isTensor(result))
      scalars[result] = made.getResult(next++);
}

void Emitter::emitWhile(scf::WhileOp loopOp) {
  SmallVector<Value> init;
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(loopOp.getInits())) {
    if (isTensor(value))
      deliver(value, viewOf(plan.carriedBuffer(loopOp, i)));
    else
      init.push_back(scalar(value));
  }
  for (Value result : loopOp.getResults())
    if (!isTensor(result))
      types.push_back(registerType(result.getType()));
  loc = loopOp.getLoc();
  auto bind = [&](Block::BlockArgListType arguments, ValueRange values) {
    unsigned next = 0;
    for (Value argument : arguments)
      if (!isTensor(argument))
        scalars[argument] = values[next++];
  };
  auto made = scf::WhileOp::create(
      b, loc, types, init,
      [&](OpBuilder &builder, Location, ValueRange in) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(builder.getInsertionBlock(),
                            builder.getInsertionPoint());
        bind(loopOp.getBeforeArguments(), in);
        emitBlock(*loopOp.getBeforeBody());
        auto condition = loopOp.getConditionOp();
        loc = condition.getLoc();
        SmallVector<Value> passed;
        for (auto [value, argument] :
             llvm::zip(condition.getArgs(), loopOp.getAfterArguments()))
          if (!isTensor(value))
            passed.push_back(scalar(value));
          else
            deliver(value, viewOf(plan.bufferOf(argument)));
        scf::ConditionOp::create(b, loc, scalar(condition.getCondition()),
                                 passed);
      },
      [&](OpBuilder &builder, Location, ValueRange in) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(builder.getInsertionBlock(),
                            builder.getInsertionPoint());
        bind(loopOp.getAfterArguments(), in);
        emitBlock(*loopOp.getAfterBody());
        loc = loopOp.getLoc();
        SmallVector<Value> yielded;
        for (auto [i, value] :
             llvm::enumerate(loopOp.getYieldOp().getOperands()))
          if (!isTensor(value))
            yielded.push_back(scalar(value));
          else
            deliver(value, viewOf(plan.carriedBuffer(loopOp, i)));
        scf::YieldOp::create(b, loc, yielded);
      });
  unsigned next = 0;
  for (Value result : loopOp.getResults())
    if (!isTensor(result))
      scalars[result] = made.getResult(next++);
}

} // namespace tessera::codegen::cpu
