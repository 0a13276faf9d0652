// compiler/semantics/builtins/Math.cpp - lowers elementwise functions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/math/Math.h"
#include "compiler/semantics/Builtins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <array>
#include <cmath>

namespace tessera::semantics {
namespace {

using namespace mlir;

// Marks the operation that computes `value` as correctly rounded. GPU targets
// use an approximate instruction without the mark.
Value roundedOnce(Value value) {
  if (Operation *op = value.tensor()->handle.getDefiningOp())
    op->setAttr(codegen::kExactAttr, UnitAttr::get(op->getContext()));
  return value;
}

template <typename Op>
Value emitUnary(BuiltinCall &call) {
  Tensor x = call.floats(0);
  return Tensor{Op::create(call.emit.builder, call.emit.location(), x.handle),
                x.type};
}

Value emitAbs(BuiltinCall &call) {
  Emitter &emit = call.emit;
  if (auto *constant = call[0].constant(); constant && constant->isNumber())
    return emit.compare(CompareOp::Lt, *constant, Value::integer(0))
                   .constant()
                   ->truth()
               ? emit.unary(UnaryOp::Neg, *constant)
               : Value(*constant);
  Tensor x = call.tensor(0);
  if (!x.type.element.isPointer && isFp8(x.type.element.dtype)) {
    // The sign is the highest bit of every 8-bit float.
    const Value magnitude =
        emit.binary(BinaryOp::And, emit.bitcast(x, {DType::UInt8, false}),
                    Value::integer(0x7f));
    return emit.bitcast(*magnitude.tensor(), x.type.element);
  }
  if (x.type.element.isFloat())
    return Tensor{math::AbsFOp::create(emit.builder, emit.location(), x.handle),
                  x.type};
  if (!x.type.element.isInt())
    call.fail(0, DiagnosticId::BadPointer,
              "tl.abs is not defined for " + toString(x.type));
  if (!isSigned(x.type.element.dtype))
    return x;
  return Tensor{math::AbsIOp::create(emit.builder, emit.location(), x.handle),
                x.type};
}

bool propagates(BuiltinCall &call, size_t index) {
  std::string mode = call.string(index);
  if (mode == "PropagateNan.ALL")
    return true;
  if (mode != "" && mode != "PropagateNan.NONE")
    call.fail(index, DiagnosticId::BadArgument,
              call.what(index) + " cannot be '" + mode + "'",
              "tl.PropagateNan.NONE or tl.PropagateNan.ALL");
  return false;
}

template <bool isMax>
Value emitMaxMin(BuiltinCall &call) {
  call.tensor(0);
  call.tensor(1);
  return emitMaximum(call.emit, call[0], call[1], isMax, propagates(call, 2));
}

// Returns the first three arguments in their common type.
std::array<Tensor, 3> numbers(BuiltinCall &call, std::string_view op) {
  for (size_t index : {0, 1, 2})
    call.tensor(index); // reports what is not a number
  return call.emit.triple({call[0], call[1], call[2]}, op);
}

Value emitClamp(BuiltinCall &call) {
  Emitter &emit = call.emit;
  bool nan = propagates(call, 3);
  auto [x, low, high] = numbers(call, "clamp");
  if (!x.type.element.isFloat() && !x.type.element.isInt())
    call.fail(0, DiagnosticId::BadArgument,
              "tl.clamp needs numbers, got " + toString(x.type));
  Value raised = emitMaximum(emit, x, low, true, nan);
  return emitMaximum(emit, raised, high, false, nan);
}

Value emitIsNan(BuiltinCall &call) {
  Tensor x = call.floats(0);
  return call.emit.compare(CompareOp::Ne, x, x);
}

Value emitIsInf(BuiltinCall &call) {
  Tensor x = call.floats(0);
  Tensor size{
      math::AbsFOp::create(call.emit.builder, call.emit.location(), x.handle),
      x.type};
  return call.emit.compare(CompareOp::Eq, size, Const(HUGE_VAL));
}

Value emitFma(BuiltinCall &call) {
  Emitter &emit = call.emit;
  auto [x, y, z] = numbers(call, "fma");
  if (!x.type.element.isFloat())
    call.fail(0, DiagnosticId::BadArgument,
              "tl.fma needs floats, got " + toString(x.type),
              "write x * y + z for integers");
  return Tensor{math::FmaOp::create(emit.builder, emit.location(), x.handle,
                                    y.handle, z.handle),
                x.type};
}

// True if tl.fdiv rounds correctly. `approx` permits a larger error, which no
// target has here.
bool roundsDivision(BuiltinCall &call) {
  if (call.boolean(2) && call.boolean(3))
    call.fail(3, DiagnosticId::BadArgument,
              "tl.fdiv: `approx` and `ieee_rounding` exclude each other",
              "leave out one of them");
  return call.boolean(2);
}

template <auto isExact>
Value emitFdiv(BuiltinCall &call) {
  for (size_t index : {0, 1})
    call.tensor(index); // reports what is not a number
  auto [x, y] = call.emit.pair(call[0], call[1], {.divides = true}, "fdiv");
  if (!x.type.element.isFloat())
    call.fail(0, DiagnosticId::BadArgument,
              call.what(0) + " or the divisor must be a float, got " +
                  toString(x.type),
              "convert one: " + call.operandText(0) + ".to(tl.float32)");
  const Value quotient = call.emit.binary(BinaryOp::Div, x, y);
  return isExact(call) ? roundedOnce(quotient) : quotient;
}

Value emitSqrtRn(BuiltinCall &call) {
  return roundedOnce(emitUnary<math::SqrtOp>(call));
}

Value emitSigmoid(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = call.floats(0);
  Tensor power = emitExp(emit, *emit.unary(UnaryOp::Neg, x).tensor());
  return emit.binary(BinaryOp::Div, Value::integer(1),
                     emit.binary(BinaryOp::Add, Value::integer(1), power));
}

Value emitSoftmax(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = call.tensor(0);
  int64_t axis = call.isNone(1) ? 0 : call.axis(1, x.type.rank());
  if (!call.isNone(2))
    call.boolean(2); // without effect: the result has the shape of x
  if (!x.type.isBlock() || !x.type.element.isFloat())
    call.fail(0, DiagnosticId::BadArgument,
              "tl.softmax needs a block of floats, got " + toString(x.type),
              "convert it: " + call.operandText(0) + ".to(tl.float32)");
  Tensor peak = emitReduction(emit, x, axis, "max", true);
  Tensor shifted = *emit.binary(BinaryOp::Sub, x, peak).tensor();
  if (bitWidth(shifted.type.element.dtype) < 32)
    call.floats(0);
  Tensor power = emitExp(emit, shifted);
  Tensor total = emitReduction(emit, power, axis, "sum", true);
  const Value result = emit.binary(BinaryOp::Div, power, total);
  return call.boolean(3) ? roundedOnce(result) : result;
}

Value emitCeilDivide(BuiltinCall &call) {
  return emitCdiv(call.emit, call[0], call[1]);
}

Value emitWhere(BuiltinCall &call) {
  return call.emit.select(call.tensor(0), call[1], call[2]);
}

template <BinaryOp op>
Value emitOperator(BuiltinCall &call) {
  return call.emit.binary(op, call[0], call[1]);
}

// Lowers the methods logical_and and logical_or of booleans.
template <bool isAnd>
Value emitLogical(BuiltinCall &call) {
  auto *a = call[0].constant(), *b = call[1].constant();
  if (a && b)
    return a->truth() == isAnd ? *b : *a;
  return call.emit.logical(isAnd, call.tensor(0), call.tensor(1));
}

// Counts bits of a 32-bit or 64-bit integer; the result is int32.
template <typename Op>
Value emitCount(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = call.tensor(0);
  if (!x.type.element.isInt() || bitWidth(x.type.element.dtype) < 32)
    call.fail(0, DiagnosticId::BadArgument,
              call.what(0) + " must be an integer of 32 or 64 bits, got " +
                  toString(x.type),
              "convert it: " + call.operandText(0) + ".to(tl.int32)");
  Tensor count{Op::create(emit.builder, emit.location(), x.handle), x.type};
  return emit.cast(count, Element{DType::Int32, false});
}

Value emitUmulhi(BuiltinCall &call) {
  Emitter &emit = call.emit;
  auto [x, y] = emit.pair(call[0], call[1], {}, "umulhi");
  unsigned bits = bitWidth(x.type.element.dtype);
  if (!x.type.element.isInt() || bits < 32)
    call.fail(0, DiagnosticId::BadArgument,
              "tl.umulhi needs integers of 32 or 64 bits, got " +
                  toString(x.type));
  if (bits == 64) {
    auto both = arith::MulUIExtendedOp::create(emit.builder, emit.location(),
                                               x.handle, y.handle);
    return Tensor{both.getHigh(), x.type};
  }
  Element wide{DType::UInt64, false}, narrow{DType::UInt32, false};
  Type type = x.type;
  x = emit.cast(emit.cast(x, narrow), wide);
  y = emit.cast(emit.cast(y, narrow), wide);
  Value product = emit.binary(BinaryOp::Mul, x, y);
  Value high = emit.binary(BinaryOp::RShift, product, Value::integer(32));
  return emit.cast(*high.tensor(), type.element);
}

} // namespace

Value emitMaximum(Emitter &emit, const Value &a, const Value &b, bool isMax,
                  bool propagateNan) {
  auto [x, y] = emit.pair(a, b, {}, isMax ? "maximum" : "minimum");
  // The larger of two bf16 is exact in fp32.
  const Element element = x.type.element;
  if (element == Element{DType::Bf16, false}) {
    x = emit.cast(x, kFp32);
    y = emit.cast(y, kFp32);
  }
  OpBuilder &builder = emit.builder;
  Location loc = emit.location();
  mlir::Value result;
  if (x.type.element.isFloat()) {
    if (propagateNan && isMax)
      result = arith::MaximumFOp::create(builder, loc, x.handle, y.handle);
    else if (propagateNan)
      result = arith::MinimumFOp::create(builder, loc, x.handle, y.handle);
    else if (isMax)
      result = arith::MaxNumFOp::create(builder, loc, x.handle, y.handle);
    else
      result = arith::MinNumFOp::create(builder, loc, x.handle, y.handle);
  } else if (isSigned(x.type.element.dtype)) {
    if (isMax)
      result = arith::MaxSIOp::create(builder, loc, x.handle, y.handle);
    else
      result = arith::MinSIOp::create(builder, loc, x.handle, y.handle);
  } else {
    if (isMax)
      result = arith::MaxUIOp::create(builder, loc, x.handle, y.handle);
    else
      result = arith::MinUIOp::create(builder, loc, x.handle, y.handle);
  }
  return emit.cast({result, x.type}, element);
}

Tensor emitExp(Emitter &emit, Tensor x) {
  return {math::ExpOp::create(emit.builder, emit.location(), x.handle), x.type};
}

Value emitCdiv(Emitter &emit, const Value &x, const Value &y) {
  Value above = emit.binary(BinaryOp::Add, x,
                            emit.binary(BinaryOp::Sub, y, Value::integer(1)));
  return emit.binary(BinaryOp::FloorDiv, above, y);
}

void registerMath(Registry &registry) {
  // Registers a builtin as tl.name and tl.math.name.
  auto both = [&](const char *name, const char *signature, BuiltinEmit emit) {
    registry.addMethod(name, signature, emit);
    registry.add(std::string("math.") + name, signature, emit);
  };
  both("exp", "x", emitUnary<math::ExpOp>);
  both("exp2", "x", emitUnary<math::Exp2Op>);
  both("log", "x", emitUnary<math::LogOp>);
  both("log2", "x", emitUnary<math::Log2Op>);
  both("sqrt", "x", emitUnary<math::SqrtOp>);
  both("sqrt_rn", "x", emitSqrtRn);
  both("rsqrt", "x", emitUnary<math::RsqrtOp>);
  both("sin", "x", emitUnary<math::SinOp>);
  both("cos", "x", emitUnary<math::CosOp>);
  both("floor", "x", emitUnary<math::FloorOp>);
  both("ceil", "x", emitUnary<math::CeilOp>);
  both("erf", "x", emitUnary<math::ErfOp>);
  both("abs", "x", emitAbs);
  both("fma", "x, y, z", emitFma);
  both("fdiv", "x, y, ieee_rounding=False, approx=False",
       emitFdiv<roundsDivision>);
  both("div_rn", "x, y", emitFdiv<[](BuiltinCall &) { return true; }>);
  both("umulhi", "x, y", emitUmulhi);
  both("maximum", "x, y, propagate_nan=None", emitMaxMin<true>);
  both("minimum", "x, y, propagate_nan=None", emitMaxMin<false>);
  // Registers libdevice functions as tl.math.* too, where older kernels call
  // them.
  auto device = [&](const char *name, BuiltinEmit emit) {
    registry.add(std::string("math.") + name, "x", emit);
  };
  device("tanh", emitUnary<math::TanhOp>);
  device("fast_tanhf", emitUnary<math::TanhOp>);
  device("fast_expf", emitUnary<math::ExpOp>);
  device("fast_logf", emitUnary<math::LogOp>);
  device("fast_log2f", emitUnary<math::Log2Op>);
  device("fast_sinf", emitUnary<math::SinOp>);
  device("fast_cosf", emitUnary<math::CosOp>);
  device("rint", emitUnary<math::RoundEvenOp>);
  device("round", emitUnary<math::RoundOp>);
  device("trunc", emitUnary<math::TruncOp>);
  device("isnan", emitIsNan);
  device("isinf", emitIsInf);
  device("clz", emitCount<math::CountLeadingZerosOp>);
  device("popc", emitCount<math::CtPopOp>);
  registry.add("add", "x, y, sanitize_overflow=True",
               emitOperator<BinaryOp::Add>);
  registry.add("sub", "x, y, sanitize_overflow=True",
               emitOperator<BinaryOp::Sub>);
  registry.add("mul", "x, y, sanitize_overflow=True",
               emitOperator<BinaryOp::Mul>);
  registry.add("clamp", "x, min, max, propagate_nan=None", emitClamp);
  registry.addMethod("sigmoid", "x", emitSigmoid);
  registry.addMethod("softmax",
                     "x, dim=None, keep_dims=None, ieee_rounding=False",
                     emitSoftmax);
  registry.addMethod("cdiv", "x, div", emitCeilDivide);
  registry.add("triton.cdiv", "x, y", emitCeilDivide);
  registry.add("where", "condition, x, y", emitWhere);
  registry.add("method.logical_and", "self, other", emitLogical<true>);
  registry.add("method.logical_or", "self, other", emitLogical<false>);
}

} // namespace tessera::semantics
