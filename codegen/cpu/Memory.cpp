// codegen/cpu/Memory.cpp - emits loads and stores of the kernel's arguments.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// Returns the type of an element in memory: i1 as a byte, 16-bit floats as
// integers.
static Type memoryType(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<tile::PtrType>(element))
    return IntegerType::get(context, 64);
  if (element.isInteger(1))
    return IntegerType::get(context, 8);
  if (element.isF16() || element.isBF16())
    return IntegerType::get(context, 16);
  return element;
}

Value Emitter::toMemory(Type element, Value value) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, lanes.like(value, b.getI8Type()),
                                  value);
  if (element.isF16() || element.isBF16())
    return lanes.narrowBits(element, value);
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), value);
  return value;
}

Value Emitter::fromMemory(Type element, Value value) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 lanes.zero(value.getType()));
  if (element.isF16() || element.isBF16())
    return lanes.widenBits(element, value);
  return value;
}

Value Emitter::memoryLoad(Value address, Type element, int64_t width) {
  Type type = memoryType(element);
  unsigned align = tile::bytesInMemory(element);
  if (width > 1)
    type = VectorType::get({width}, type);
  return LLVM::LoadOp::create(b, loc, type, address, align);
}

void Emitter::memoryStore(Value address, Type element, Value value) {
  LLVM::StoreOp::create(b, loc, value, address, tile::bytesInMemory(element));
}

static bool isContiguous(const Lanes &pointers, Type element) {
  APInt stride;
  return pointers.kind == Lanes::Affine &&
         matchPattern(pointers.stride, m_ConstantInt(&stride)) &&
         stride == uint64_t(tile::bytesInMemory(element));
}

// Emits an if and returns its result, of `type`; null if the branches return
// nothing. A null condition is true.
Value Emitter::either(Value condition, Type type,
                      llvm::function_ref<Value()> then,
                      llvm::function_ref<Value()> otherwise) {
  if (!condition)
    return then();
  auto branch = scf::IfOp::create(b, loc, type ? TypeRange(type) : TypeRange(),
                                  condition, true);
  OpBuilder::InsertionGuard guard(b);
  for (bool first : {true, false}) {
    Region &region = first ? branch.getThenRegion() : branch.getElseRegion();
    b.setInsertionPointToStart(&region.front());
    Value value = first ? then() : otherwise();
    if (type)
      scf::YieldOp::create(b, loc, value);
  }
  return type ? branch.getResult(0) : Value();
}

Lanes Emitter::load(tile::LoadOp op, const Index &index) {
  Type element = tile::elementType(op.getType());
  Type memory = memoryType(element);
  Lanes pointers = evaluate(op.getPtr(), index);
  Lanes mask, other;
  bool masked = bool(op.getMask());
  if (masked) {
    mask = evaluate(op.getMask(), index);
    APInt constantMask;
    if (mask.kind == Lanes::Uniform &&
        matchPattern(mask.value, m_ConstantInt(&constantMask)) &&
        constantMask.isOne())
      masked = false;
  }
  if (masked && op.getOther())
    other = evaluate(op.getOther(), index);
  loc = op.getLoc();
  bool one = pointers.kind == Lanes::Uniform &&
             (!masked || (mask.kind == Lanes::Uniform &&
                          (!op.getOther() || other.kind == Lanes::Uniform)));
  int64_t width = one ? 1 : index.width;
  Type type = width == 1 ? memory : Type(VectorType::get({width}, memory));
  auto absent = [&]() -> Value {
    if (!op.getOther())
      return lanes.zero(type);
    return toMemory(element, lanes.vector(other, width));
  };
  Value value;
  bool guarded = masked && mask.kind == Lanes::Uniform;
  auto read = [&]() -> Value {
    if (width == 1)
      return memoryLoad(lanes.firstAddress(pointers), element, 1);
    if (pointers.kind == Lanes::Uniform && guarded)
      return lanes.splat(memoryLoad(lanes.firstAddress(pointers), element, 1),
                         width);
    auto neighbours = [&]() -> Value {
      Value address = lanes.firstAddress(pointers);
      if (!masked || guarded)
        return memoryLoad(address, element, width);
      return LLVM::MaskedLoadOp::create(b, loc, type, address,
                                        lanes.vector(mask, width), absent(),
                                        tile::bytesInMemory(element));
    };
    auto anywhere = [&]() -> Value {
      Value addresses = lanes.addresses(pointers, width);
      Value lanesMask =
          masked && !guarded
              ? lanes.vector(mask, width)
              : lanes.splat(lanes.integer(b.getI1Type(), 1), width);
      return LLVM::masked_gather::create(b, loc, type, addresses, lanesMask,
                                         masked && !guarded
                                             ? ValueRange(absent())
                                             : ValueRange(lanes.zero(type)),
                                         tile::bytesInMemory(element));
    };
    if (!isContiguous(pointers, element))
      return anywhere();
    return either(pointers.exact, type, neighbours, anywhere);
  };
  if (guarded) {
    auto branch = scf::IfOp::create(b, loc, TypeRange(type), mask.value, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      scf::YieldOp::create(b, loc, read());
      b.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(b, loc, absent());
    }
    value = branch.getResult(0);
  } else {
    value = read();
  }
  value = fromMemory(element, value);
  return width == 1 ? Lanes::uniform(value) : Lanes::general(value);
}

void Emitter::store(tile::StoreOp op, const Index &index) {
  Type element = cast<tile::PtrType>(tile::elementType(op.getPtr().getType()))
                     .getPointee();
  Lanes pointers = evaluate(op.getPtr(), index);
  Lanes source = evaluate(op.getValue(), index);
  Lanes mask;
  bool masked = bool(op.getMask());
  if (masked)
    mask = evaluate(op.getMask(), index);
  loc = op.getLoc();
  int64_t width = index.width;
  Value value = toMemory(element, lanes.vector(source, width));
  bool guarded = masked && mask.kind == Lanes::Uniform;
  auto neighbours = [&]() -> Value {
    Value address = lanes.firstAddress(pointers);
    if (!masked || guarded)
      memoryStore(address, element, value);
    else
      LLVM::MaskedStoreOp::create(b, loc, value, address,
                                  lanes.vector(mask, width),
                                  tile::bytesInMemory(element));
    return {};
  };
  auto anywhere = [&]() -> Value {
    Value lanesMask = masked && !guarded
                          ? lanes.vector(mask, width)
                          : lanes.splat(lanes.integer(b.getI1Type(), 1), width);
    LLVM::masked_scatter::create(b, loc, value,
                                 lanes.addresses(pointers, width), lanesMask,
                                 tile::bytesInMemory(element));
    return {};
  };
  auto write = [&] {
    if (width == 1)
      memoryStore(lanes.firstAddress(pointers), element, value);
    else if (isContiguous(pointers, element))
      either(pointers.exact, {}, neighbours, anywhere);
    else
      anywhere();
  };
  if (!guarded) {
    write();
    return;
  }
  auto branch = scf::IfOp::create(b, loc, TypeRange(), mask.value, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  write();
}

void Emitter::emitStore(tile::StoreOp op) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getPtr().getType());
  int lane =
      chooseLane(shape, {op.getPtr(), op.getValue()}, int(shape.size()) - 1);
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]);
  nest(shape, lane, width, [&](const Index &index) { store(op, index); });
}

} // namespace tessera::codegen::cpu
