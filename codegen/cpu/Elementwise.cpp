// codegen/cpu/Elementwise.cpp - emits one arith, math or tile operation on
// lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tessera::codegen::cpu {

Value Emitter::constant(Attribute attr, Type element) {
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    if (element.isF64())
      return lanes.real(element, number.getValueAsDouble());
    APFloat value = number.getValue();
    bool inexact = false;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &inexact);
    return arith::ConstantOp::create(b, loc,
                                     FloatAttr::get(b.getF32Type(), value));
  }
  return arith::ConstantOp::create(
      b, loc, IntegerAttr::get(element, cast<IntegerAttr>(attr).getValue()));
}

static bool isNarrowFloat(Type type) { return type.isF16() || type.isBF16(); }

// True if the result of `op` is one of its operands or the negation of one.
// Such an operation is exact in f32 for every element type.
static bool isExact(Operation *op) {
  return isa<arith::NegFOp, arith::SelectOp, arith::MaximumFOp,
             arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             math::AbsFOp, math::FloorOp, math::CeilOp, math::TruncOp,
             math::RoundEvenOp, math::CopySignOp>(op);
}

Value Emitter::bitcast(Operation *op, Value value) {
  Type from = tile::elementType(op->getOperand(0).getType());
  Type to = tile::elementType(op->getResult(0).getType());
  if (isa<tile::PtrType>(from) && isa<tile::PtrType>(to))
    return value;
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return LLVM::PtrToIntOp::create(b, loc, to, value);
  if (isa<tile::PtrType>(to) && !isa<VectorType>(value.getType()) &&
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return lanes.absolute(value);
  if (isa<tile::PtrType>(from) || isa<tile::PtrType>(to))
    return value;
  if (isNarrowFloat(from))
    value = lanes.narrowBits(from, value);
  if (isNarrowFloat(to)) {
    if (!getElementTypeOrSelf(value.getType()).isInteger(16))
      value = arith::BitcastOp::create(
          b, loc, lanes.like(value, b.getI16Type()), value);
    return lanes.widenBits(to, value);
  }
  Type type = lanes.like(value, to);
  if (value.getType() == type)
    return value;
  return arith::BitcastOp::create(b, loc, type, value);
}

// True if a division by `divisor` does not trap for any dividend.
static bool isHarmless(Value divisor) {
  Attribute attr;
  if (!matchPattern(divisor, m_Constant(&attr)))
    return false;
  if (auto dense = dyn_cast<DenseIntElementsAttr>(attr))
    return llvm::none_of(dense.getValues<APInt>(), [](const APInt &value) {
      return value.isZero() || value.isAllOnes();
    });
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && !number.getValue().isZero() &&
         !number.getValue().isAllOnes();
}

// Returns a divisor that is 1 in each lane that would trap: x / 0, and the
// least integer / -1. x86 traps in masked-off lanes too, and LLVM treats both
// divisions as undefined behavior (docs/numerics.md).
Value Emitter::safeDivisor(Operation *op, Value dividend, Value divisor) {
  if (isHarmless(divisor))
    return divisor;
  Type type = divisor.getType();
  using Predicate = arith::CmpIPredicate;
  auto equals = [&](Value value, const APInt &number) -> Value {
    TypedAttr attr = IntegerAttr::get(getElementTypeOrSelf(type), number);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::CmpIOp::create(b, loc, Predicate::eq, value,
                                 arith::ConstantOp::create(b, loc, attr));
  };
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Value traps = equals(divisor, APInt::getZero(bits));
  if (isa<arith::DivSIOp, arith::RemSIOp>(op)) {
    Value overflows =
        arith::AndIOp::create(b, loc, equals(divisor, APInt::getAllOnes(bits)),
                              equals(dividend, APInt::getSignedMinValue(bits)));
    traps = arith::OrIOp::create(b, loc, traps, overflows);
  }
  return arith::SelectOp::create(b, loc, traps, lanes.integer(type, 1),
                                 divisor);
}

Value Emitter::apply(Operation *op, unsigned result, ArrayRef<Value> operands) {
  Type element = tile::elementType(op->getResult(result).getType());
  Type source = op->getNumOperands()
                    ? tile::elementType(op->getOperand(0).getType())
                    : Type();
  Type held = isa<tile::PtrType>(element) &&
                      isa<RankedTensorType>(op->getResult(0).getType())
                  ? b.getI64Type()
                  : registerType(element);
  if (isa<tile::BitcastOp, arith::BitcastOp>(op))
    return bitcast(op, operands[0]);
  if (isa<tile::ConvertOp, arith::ExtFOp, arith::TruncFOp>(op)) {
    Value value = operands[0];
    bool towardsZero = false;
    if (auto convert = dyn_cast<tile::ConvertOp>(op))
      towardsZero = convert.getRounding() == tile::Rounding::RTZ;
    Type now = getElementTypeOrSelf(value.getType());
    if (towardsZero && now.isF32() && element.isBF16() && !source.isBF16())
      return lanes.roundToBf16(value, true);
    if (towardsZero &&
        element.getIntOrFloatBitWidth() < source.getIntOrFloatBitWidth())
      unsupported(op, "rounding towards zero to this type");
    if (now.isF64() && isNarrowFloat(element))
      value = lanes.roundToOdd(value);
    else if (now.isF64() && held.isF32())
      value = arith::TruncFOp::create(b, loc, lanes.like(value, held), value);
    else if (now.isF32() && held.isF64())
      value = arith::ExtFOp::create(b, loc, lanes.like(value, held), value);
    if (isNarrowFloat(element) && source != element)
      value = lanes.roundTo(element, value);
    return value;
  }
  if (isa<arith::IndexCastOp>(op))
    unsupported(op, "a value of type index");
  SmallVector<Value> safe(operands);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    safe[1] = safeDivisor(op, safe[0], safe[1]);
  operands = safe;
  IRMapping mapping;
  for (auto [from, to] : llvm::zip(op->getOperands(), operands))
    mapping.map(from, to);
  Operation *copy = b.clone(*op, mapping);
  copy->setLoc(loc);
  // Later passes do not read the author's hints (tile.contiguity ...).
  for (NamedAttribute each : llvm::to_vector(copy->getDiscardableAttrs()))
    copy->removeDiscardableAttr(each.getName());
  // The results have as many lanes as the last operand.
  Value shape = operands.empty() ? Value() : operands.back();
  for (OpResult each : copy->getResults()) {
    Type of =
        tile::elementType(op->getResult(each.getResultNumber()).getType());
    Type type =
        isa<tile::PtrType>(of) && held.isInteger(64) ? held : registerType(of);
    each.setType(shape ? lanes.like(shape, type) : type);
  }
  Value value = copy->getResult(result);
  if (isNarrowFloat(element) && !isExact(op))
    value = lanes.roundTo(element, value);
  return value;
}

} // namespace tessera::codegen::cpu
