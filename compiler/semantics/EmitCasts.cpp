// compiler/semantics/EmitCasts.cpp - emits constants, conversions and bit
// casts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Constants.h"
#include "compiler/semantics/Emitter.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::semantics {

using namespace mlir;

static Tensor constantOf(Emitter &emitter, Type type, TypedAttr scalar) {
  mlir::Type mlirType = toMlir(emitter.context(), type);
  TypedAttr value = scalar;
  if (auto shaped = dyn_cast<ShapedType>(mlirType))
    value = DenseElementsAttr::get(shaped, Attribute(scalar));
  return {arith::ConstantOp::create(emitter.builder, emitter.location(), value),
          type};
}

Emitter::Emitter(MLIRContext &context, ErrorReporter &reporter)
    : builder(&context), site{SourceRange(), UnknownLoc::get(&context)},
      reporter(reporter) {}

void Emitter::fail(DiagnosticId id, std::string message,
                   std::string hint) const {
  reporter.report(id, site.range, std::move(message), std::move(hint));
  __builtin_unreachable();
}

Tensor Emitter::integer(__int128 value, DType dtype, Shape shape) {
  llvm::APInt bits(bitWidth(dtype), uint64_t(value), false,
                   /*implicitTrunc=*/true);
  auto attr = IntegerAttr::get(toMlir(context(), dtype), bits);
  return constantOf(*this, Type(dtype, std::move(shape)), attr);
}

Tensor Emitter::floating(double value, DType dtype, Shape shape) {
  if (isFp8(dtype)) {
    Tensor bits = integer(fp8Bits(value, dtype), DType::Int8, std::move(shape));
    return {bits.handle, bits.type.with({dtype, false})};
  }
  auto attr = FloatAttr::get(toMlir(context(), dtype), value);
  return constantOf(*this, Type(dtype, std::move(shape)), attr);
}

Tensor Emitter::number(const Const &value, DType dtype) {
  if (isFloat(dtype)) {
    if (auto number = value.asFloat())
      return floating(*number, dtype);
  } else if (auto number = value.asInt()) {
    if (dtype == DType::Int1)
      return integer(*number != 0, dtype);
    if (*number < minOf(dtype) || *number > maxOf(dtype))
      fail(DiagnosticId::IntegerRange,
           value.str() + " does not fit " + std::string(nameOf(dtype)) +
               ", which ends at " + printInt(maxOf(dtype)),
           "widen the other operand first, as with .to(tl.int64)");
    return integer(*number, dtype);
  }
  fail(DiagnosticId::BadOperand,
       "cannot make " + std::string(nameOf(dtype)) + " of " + value.kindName() +
           " " + value.str(),
       value.isFloat() ? "write int(...) for a compile-time value" : "");
}

static std::string valueHint(const Value &value) {
  if (value.aggregate())
    return fieldHint(value, "value");
  if (value.tupleValues())
    return "index a tuple to get one of its values: t[0]";
  if (auto *constant = value.constant(); constant && constant->isString())
    return "a text is not a number: a constexpr takes a value, as in N=64";
  if (value.as<FunctionRef>() || value.as<BuiltinRef>())
    return "call the function: write its arguments in parentheses";
  if (value.isNone())
    return "do this only `if` the argument `is not None`";
  if (value.blockPointer())
    return "load what it points to with tl.load";
  return "";
}

Tensor Emitter::toTensor(const Value &value, std::string_view what) {
  if (auto *tensor = value.tensor())
    return *tensor;
  if (auto *constant = value.constant()) {
    if (constant->isBool())
      return integer(*constant->asInt(), DType::Int1);
    if (constant->isInt()) {
      auto dtype = dtypeOfInt(*constant->asInt());
      if (!dtype)
        fail(DiagnosticId::IntegerRange,
             constant->str() + " does not fit 64 bits");
      return integer(*constant->asInt(), *dtype);
    }
    if (constant->isFloat())
      return floating(*constant->asFloat(), dtypeOfFloat(*constant->asFloat()));
  }
  fail(DiagnosticId::BadOperand,
       std::string(what) + " must be a number or a block, got " +
           value.describe(),
       valueHint(value));
}

Tensor Emitter::truth(Tensor value) {
  return cast(value, Element{DType::Int1, false});
}

// Converts between floating-point types. 16-bit sources are converted through
// fp32.
Tensor Emitter::floatCast(Tensor value, Element to, bool towardZero) {
  if (isFp8(value.type.element.dtype))
    value = fromFp8(value);
  if (value.type.element == to)
    return value;
  if (isFp8(to.dtype))
    return toFp8(value.type.element.dtype == DType::Fp64 ? roundToOdd(value)
                                                         : cast(value, kFp32),
                 to.dtype, towardZero);
  Type type = value.type.with(to);
  auto rounding = towardZero ? tile::Rounding::RTZ : tile::Rounding::RTNE;
  return {tile::ConvertOp::create(builder, location(), toMlir(context(), type),
                                  value.handle, rounding),
          type};
}

Tensor Emitter::castRounding(Tensor value, Element to, bool towardZero) {
  Element from = value.type.element;
  if (!from.isFloat() || !to.isFloat() ||
      bitWidth(to.dtype) >= bitWidth(from.dtype))
    fail(DiagnosticId::BadArgument,
         "`fp_downcast_rounding` is for narrowing floats, not " +
             toString(from) + " to " + toString(to));
  return floatCast(value, to, towardZero);
}

// Converts an address to a 64-bit integer or back. As a truth value, an address
// is true if it is not null.
Tensor Emitter::addressCast(Tensor value, Element to) {
  Element from = value.type.element;
  constexpr Element kAddress{DType::Int64, false};
  auto move = [&](Tensor moved, Element element) -> Tensor {
    Type type = moved.type.with(element);
    return {tile::BitcastOp::create(builder, location(),
                                    toMlir(context(), type), moved.handle),
            type};
  };
  auto isWord = [](const Element &element) {
    return element.isInt() && bitWidth(element.dtype) == 64;
  };
  if (from.isPointer && to.isBool())
    return cast(move(value, kAddress), to);
  if (from.isPointer && isWord(to))
    return cast(move(value, kAddress), to);
  if (to.isPointer && isWord(from))
    return move(value, to);
  fail(DiagnosticId::BadPointer,
       "an address has 64 bits: no cast from " + toString(from) + " to " +
           toString(to),
       to.isPointer ? "convert the integer first: .to(tl.int64)"
                    : "convert to tl.int64 first");
}

Tensor Emitter::cast(Tensor value, Element to) {
  Element from = value.type.element;
  if (from == to)
    return value;
  Type type = value.type.with(to);
  mlir::Type result = toMlir(context(), type);
  Location loc = location();
  if (from.isPointer && to.isPointer)
    return bitcast(value, to);
  if (from.isPointer || to.isPointer)
    return addressCast(value, to);

  if (isFp8(from.dtype) || isFp8(to.dtype)) {
    if (from.isFloat() && to.isFloat())
      return floatCast(value, to, false);
    return cast(cast(value, kFp32), to);
  }
  bool half = from.dtype == DType::Fp16 || from.dtype == DType::Bf16;
  if (half && to.dtype != DType::Fp32)
    return cast(cast(value, Element{DType::Fp32, false}), to);
  if (from.isFloat() && to.isFloat())
    return floatCast(value, to, false);

  if (to.isBool()) {
    if (from.isFloat()) {
      Tensor zero = floating(0.0, from.dtype, value.type.shape);
      return {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE,
                                    value.handle, zero.handle),
              type};
    }
    Tensor zero = integer(0, from.dtype, value.type.shape);
    return {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                  value.handle, zero.handle),
            type};
  }
  if (from.isInt() && to.isInt()) {
    unsigned a = bitWidth(from.dtype), b = bitWidth(to.dtype);
    if (a == b)
      return {value.handle, type};
    if (a > b)
      return {arith::TruncIOp::create(builder, loc, result, value.handle),
              type};
    if (isSigned(from.dtype))
      return {arith::ExtSIOp::create(builder, loc, result, value.handle), type};
    return {arith::ExtUIOp::create(builder, loc, result, value.handle), type};
  }
  if (from.isFloat()) {
    // Converts to types below 32 bits through int32. A value out of range then
    // wraps, as in Triton's interpreter, instead of being undefined.
    if (bitWidth(to.dtype) < 32)
      return cast(cast(value, Element{DType::Int32, false}), to);
    if (isSigned(to.dtype))
      return {arith::FPToSIOp::create(builder, loc, result, value.handle),
              type};
    return {arith::FPToUIOp::create(builder, loc, result, value.handle), type};
  }
  if (isSigned(from.dtype))
    return {arith::SIToFPOp::create(builder, loc, result, value.handle), type};
  return {arith::UIToFPOp::create(builder, loc, result, value.handle), type};
}

Tensor Emitter::bitcast(Tensor value, Element to) {
  Element from = value.type.element;
  if (from == to)
    return value;
  if (from.isPointer != to.isPointer)
    return cast(value, to);
  if (!from.isPointer && bitWidth(from.dtype) != bitWidth(to.dtype))
    fail(DiagnosticId::BadOperand,
         "cannot bitcast " + toString(from) + " (" +
             std::to_string(bitWidth(from.dtype)) + " bits) to " +
             toString(to) + " (" + std::to_string(bitWidth(to.dtype)) +
             " bits)",
         "a bit cast keeps every bit: use a type of " +
             std::to_string(bitWidth(from.dtype)) +
             " bits, or convert the value without bitcast=True");
  Type type = value.type.with(to);
  mlir::Type result = toMlir(context(), type);
  if (result == value.handle.getType())
    return {value.handle, type};
  return {tile::BitcastOp::create(builder, location(), result, value.handle),
          type};
}

} // namespace tessera::semantics
