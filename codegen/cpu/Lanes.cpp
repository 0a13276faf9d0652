// codegen/cpu/Lanes.cpp - operations on values of neighbouring elements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Lanes.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen::cpu {

Type registerType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isF16() || element.isBF16())
    return Float32Type::get(context);
  if (isa<tile::PtrType>(element))
    return LLVM::LLVMPointerType::get(context);
  return element;
}

Value LaneBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value LaneBuilder::integer(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = IntegerAttr::get(
      element, APInt(element.getIntOrFloatBitWidth(), uint64_t(value), false,
                     /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value LaneBuilder::real(Type type, double value) {
  TypedAttr attr = FloatAttr::get(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value LaneBuilder::zero(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) ? real(type, 0)
                                                    : integer(type, 0);
}

Value LaneBuilder::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value LaneBuilder::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}
Value LaneBuilder::mul(Value x, Value y) {
  // Folds factors of one or zero on either side; both are common.
  if (matchPattern(x, m_One()) || matchPattern(y, m_Zero()))
    return y;
  if (matchPattern(y, m_One()) || matchPattern(x, m_Zero()))
    return x;
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}

Type LaneBuilder::like(Value value, Type element) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value LaneBuilder::splat(Value scalar, int64_t width) {
  assert(width >= 1 && "a vector of no lanes");
  if (width == 1)
    return scalar;
  assert(!isa<VectorType>(scalar.getType()) && "vectors are not splat again");
  auto type = VectorType::get({width}, scalar.getType());
  Attribute constant;
  if (matchPattern(scalar, m_Constant(&constant)))
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(type, constant));
  Value undef = LLVM::UndefOp::create(b, loc, type);
  Value first = insert(undef, scalar, 0);
  return shuffle(first, undef, SmallVector<int32_t>(width, 0));
}

Value LaneBuilder::extract(Value vector, int64_t lane) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  assert(lane >= 0 && lane < type.getNumElements() && "no such lane");
  return LLVM::ExtractElementOp::create(b, loc, vector,
                                        integer(b.getI32Type(), lane));
}

Value LaneBuilder::insert(Value vector, Value scalar, int64_t lane) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return scalar;
  assert(lane >= 0 && lane < type.getNumElements() && "no such lane");
  return LLVM::InsertElementOp::create(b, loc, vector, scalar,
                                       integer(b.getI32Type(), lane));
}

Value LaneBuilder::shuffle(Value x, Value y, ArrayRef<int32_t> mask) {
  return LLVM::ShuffleVectorOp::create(b, loc, x, y, mask);
}

Value LaneBuilder::vector(const Lanes &lanes, int64_t width) {
  if (lanes.hasBase()) {
    Value base = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), lanes.base);
    return add(splat(base, width), vector(lanes.offsets(), width));
  }
  switch (lanes.kind) {
  case Lanes::Uniform:
    return splat(lanes.value, width);
  case Lanes::General:
    return lanes.value;
  case Lanes::Affine:
    break;
  }
  if (width == 1)
    return lanes.value;
  if (lanes.exact)
    return lanes.wrapped;
  auto type = cast<IntegerType>(lanes.value.getType());
  SmallVector<APInt> steps;
  APInt constant;
  bool known = matchPattern(lanes.stride, m_ConstantInt(&constant));
  for (int64_t i = 0; i < width; ++i) {
    APInt step(type.getWidth(), uint64_t(i), false, true);
    steps.push_back(known ? step * constant : step);
  }
  Value iota = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(VectorType::get({width}, type), steps));
  if (!known)
    iota = mul(iota, splat(lanes.stride, width));
  return add(splat(lanes.value, width), iota);
}

Value LaneBuilder::byteOffset(Value pointer, Value bytes) {
  if (matchPattern(bytes, m_Zero()))
    return pointer;
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value LaneBuilder::firstAddress(const Lanes &lanes) {
  Value offset =
      lanes.kind == Lanes::General ? extract(lanes.value, 0) : lanes.value;
  return lanes.hasBase() ? byteOffset(lanes.base, offset) : absolute(offset);
}

Value LaneBuilder::addresses(const Lanes &lanes, int64_t width) {
  // One base with a vector of offsets lets alias analysis see the base.
  Value offsets = vector(lanes.offsets(), width);
  if (!lanes.hasBase())
    return absolute(offsets);
  return LLVM::GEPOp::create(b, loc, like(offsets, lanes.base.getType()),
                             b.getI8Type(), lanes.base,
                             ArrayRef<LLVM::GEPArg>{offsets});
}

Value LaneBuilder::absolute(Value address) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::IntToPtrOp::create(b, loc, like(address, pointer), address);
}

Value LaneBuilder::roundToBf16(Value value, bool towardsZero) {
  Type bitsType = like(value, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, bitsType, value);
  Value high = integer(bitsType, 0xffff0000);
  Value rounded = bits;
  if (!towardsZero) {
    Value odd = arith::AndIOp::create(
        b, loc, arith::ShRUIOp::create(b, loc, bits, integer(bitsType, 16)),
        integer(bitsType, 1));
    rounded = add(add(bits, integer(bitsType, 0x7fff)), odd);
  }
  rounded = arith::AndIOp::create(b, loc, rounded, high);
  // Keeps a NaN, because rounding its bits could give infinity.
  Value quiet =
      arith::OrIOp::create(b, loc, arith::AndIOp::create(b, loc, bits, high),
                           integer(bitsType, 0x00400000));
  Value isNan =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  rounded = arith::SelectOp::create(b, loc, isNan, quiet, rounded);
  return arith::BitcastOp::create(b, loc, value.getType(), rounded);
}

// Truncates to f32 and sets the last bit if that is inexact ("round to odd"):
// f32 has at least two more bits than the result of the next rounding, which
// then is that of the exact value (Boldo and Melquiond, "When double rounding
// is odd", 2005).
Value LaneBuilder::roundToOdd(Value value) {
  Value near =
      arith::TruncFOp::create(b, loc, like(value, b.getF32Type()), value);
  Value back = arith::ExtFOp::create(b, loc, value.getType(), near);
  Value inexact =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, value);
  Value away = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                     math::AbsFOp::create(b, loc, back),
                                     math::AbsFOp::create(b, loc, value));
  Type bitsType = like(value, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, bitsType, near);
  bits = sub(bits, arith::ExtUIOp::create(b, loc, bitsType, away));
  bits = arith::OrIOp::create(
      b, loc, bits, arith::ExtUIOp::create(b, loc, bitsType, inexact));
  return arith::BitcastOp::create(b, loc, near.getType(), bits);
}

Value LaneBuilder::roundTo(Type element, Value value) {
  if (element.isBF16())
    return roundToBf16(value);
  if (element.isF16()) {
    Value narrow =
        arith::TruncFOp::create(b, loc, like(value, b.getF16Type()), value);
    return arith::ExtFOp::create(b, loc, value.getType(), narrow);
  }
  return value;
}

Value LaneBuilder::narrowBits(Type element, Value value) {
  Type bitsType = like(value, b.getI16Type());
  if (element.isF16()) {
    Value narrow =
        arith::TruncFOp::create(b, loc, like(value, b.getF16Type()), value);
    return arith::BitcastOp::create(b, loc, bitsType, narrow);
  }
  Type wide = like(value, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, wide, value);
  bits = arith::ShRUIOp::create(b, loc, bits, integer(wide, 16));
  return arith::TruncIOp::create(b, loc, bitsType, bits);
}

Value LaneBuilder::widenBits(Type element, Value bits) {
  Type result = like(bits, b.getF32Type());
  if (element.isF16()) {
    Value narrow =
        arith::BitcastOp::create(b, loc, like(bits, b.getF16Type()), bits);
    return arith::ExtFOp::create(b, loc, result, narrow);
  }
  Type wide = like(bits, b.getI32Type());
  Value high = arith::ExtUIOp::create(b, loc, wide, bits);
  high = arith::ShLIOp::create(b, loc, high, integer(wide, 16));
  return arith::BitcastOp::create(b, loc, result, high);
}

} // namespace tessera::codegen::cpu
