// codegen/math/MathEmitter.h - short names for the arithmetic of Math*.cpp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tessera::codegen {

// Builds operations on one type, f32 or f64 or a vector or tensor of either,
// and on the integers of the same width. None carries fast-math flags: what is
// written is what is computed.
class MathEmitter {
public:
  // avx512: 512-bit vectors may use instructions of AVX-512F.
  MathEmitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
              bool avx512 = false)
      : builder(builder), loc(loc), floats(type), avx512(avx512),
        isDouble(mlir::getElementTypeOrSelf(type).isF64()),
        ints(shaped(builder.getIntegerType(isDouble ? 64 : 32))) {}

  bool isF64() const { return isDouble; }

  // Whether there is one instruction for x * 2^n.
  bool hasScalef() const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(floats);
    return avx512 && vector && vector.getRank() == 1 &&
           vector.getNumElements() == (isDouble ? 8 : 16);
  }
  // x * 2^n for an integer n, rounded once; only if hasScalef().
  mlir::Value scalef(mlir::Value x, mlir::Value n) {
    auto constant = [&](int bits, int64_t value) -> mlir::Value {
      return mlir::arith::ConstantIntOp::create(
          builder, loc, builder.getIntegerType(bits), value);
    };
    // All lanes, rounded as MXCSR says.
    mlir::Value operands[] = {x, n, x, constant(isDouble ? 8 : 16, -1),
                              constant(32, 4)};
    auto name =
        builder.getStringAttr(isDouble ? "llvm.x86.avx512.mask.scalef.pd.512"
                                       : "llvm.x86.avx512.mask.scalef.ps.512");
    return mlir::LLVM::CallIntrinsicOp::create(builder, loc, floats, name,
                                               operands)
        .getResults();
  }

  mlir::Value number(double value) {
    mlir::FloatAttr attr =
        builder.getFloatAttr(mlir::getElementTypeOrSelf(floats), value);
    return constant(floats, attr);
  }
  mlir::Value integer(int64_t value) {
    mlir::IntegerAttr attr =
        builder.getIntegerAttr(mlir::getElementTypeOrSelf(ints), value);
    return constant(ints, attr);
  }

  mlir::Value add(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AddFOp>(a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SubFOp>(a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::MulFOp>(a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::DivFOp>(a, b);
  }
  mlir::Value neg(mlir::Value a) { return make<mlir::arith::NegFOp>(a); }
  mlir::Value abs(mlir::Value a) { return make<mlir::math::AbsFOp>(a); }
  mlir::Value copySign(mlir::Value a, mlir::Value sign) {
    return make<mlir::math::CopySignOp>(a, sign);
  }
  mlir::Value trunc(mlir::Value a) { return make<mlir::math::TruncOp>(a); }
  // a * b + c, rounded once.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) {
    return make<mlir::math::FmaOp>(a, b, c);
  }

  mlir::Value addi(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value subi(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SubIOp>(a, b);
  }
  mlir::Value andi(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AndIOp>(a, b);
  }
  mlir::Value xori(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::XOrIOp>(a, b);
  }
  mlir::Value shl(mlir::Value a, int64_t by) {
    return make<mlir::arith::ShLIOp>(a, integer(by));
  }
  mlir::Value shr(mlir::Value a, int64_t by) {
    return make<mlir::arith::ShRSIOp>(a, integer(by));
  }
  mlir::Value isNotZero(mlir::Value a) {
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::ne, a, integer(0));
  }

  // Ordered: false where either is NaN.
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpFOp::create(builder, loc,
                                       mlir::arith::CmpFPredicate::OLT, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpFOp::create(builder, loc,
                                       mlir::arith::CmpFPredicate::OEQ, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }
  // The bound where it is greater (less) than x, else x: NaN stays NaN, and
  // both are one instruction.
  mlir::Value atLeast(mlir::Value x, double bound) {
    mlir::Value limit = number(bound);
    return select(less(x, limit), limit, x);
  }
  mlir::Value atMost(mlir::Value x, double bound) {
    mlir::Value limit = number(bound);
    return select(less(limit, x), limit, x);
  }

  mlir::Value bits(mlir::Value a) {
    return mlir::arith::BitcastOp::create(builder, loc, ints, a);
  }
  mlir::Value fromBits(mlir::Value a) {
    return mlir::arith::BitcastOp::create(builder, loc, floats, a);
  }
  mlir::Value toFloat(mlir::Value a) {
    return mlir::arith::SIToFPOp::create(builder, loc, floats, a);
  }

  // Horner's scheme, lowest coefficient first.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) {
    mlir::Value sum = number(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(c));
    return sum;
  }

  // The same type with another element type.
  mlir::Type shaped(mlir::Type element) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(floats))
      return mlir::VectorType::get(vector.getShape(), element,
                                   vector.getScalableDims());
    if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(floats))
      return tensor.clone(element);
    return element;
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type floats;

private:
  template <typename Op, typename... Values>
  mlir::Value make(Values... values) {
    return Op::create(builder, loc, values...);
  }
  mlir::Value constant(mlir::Type type, mlir::TypedAttr attr) {
    if (auto shape = mlir::dyn_cast<mlir::ShapedType>(type))
      attr = mlir::DenseElementsAttr::get(shape, mlir::Attribute(attr));
    return mlir::arith::ConstantOp::create(builder, loc, attr);
  }

  bool avx512;
  bool isDouble;
  mlir::Type ints;
};

// One function each, x in the emitter's type; the result as well.
mlir::Value emitExp(MathEmitter &e, mlir::Value x);
mlir::Value emitExp2(MathEmitter &e, mlir::Value x);
// 1 / (1 + e^x).
mlir::Value emitLogistic(MathEmitter &e, mlir::Value x);
mlir::Value emitLog(MathEmitter &e, mlir::Value x);
mlir::Value emitLog2(MathEmitter &e, mlir::Value x);
mlir::Value emitSin(MathEmitter &e, mlir::Value x);
mlir::Value emitCos(MathEmitter &e, mlir::Value x);
mlir::Value emitTanh(MathEmitter &e, mlir::Value x);
mlir::Value emitErf(MathEmitter &e, mlir::Value x);
mlir::Value emitRemainder(MathEmitter &e, mlir::Value x, mlir::Value y);

} // namespace tessera::codegen
