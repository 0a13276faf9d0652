// compiler/semantics/builtins/Casts.cpp - casts, and questions about types.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

namespace tessera::semantics {
namespace {

Value emitCast(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = call.tensor(0);
  Element to = call.element(1);
  std::string rounding = call.string(2);
  if (call.boolean(3))
    return emit.bitcast(x, to);
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz")
    call.fail(2, DiagnosticId::BadArgument,
              call.what(2) + " cannot be '" + rounding + "'",
              "'rtne' or 'rtz'");
  // Where the type stays there is nothing to round, as under Triton.
  if (rounding.empty() || x.type.element == to)
    return emit.cast(x, to);
  return emit.castRounding(x, to, rounding == "rtz");
}

// tl.core.get_int_dtype(32, True), as in kernels that sort by bits.
Value emitIntDType(BuiltinCall &call) {
  auto dtype = intOfWidth(unsigned(call.integer(0)), call.boolean(1));
  if (!dtype)
    call.fail(0, DiagnosticId::BadArgument,
              "there is no integer of " + std::to_string(call.integer(0)) +
                  " bits");
  return Value::type(Type(*dtype));
}

Value emitToTensor(BuiltinCall &call) { return call.tensor(0); }

Value emitPointerType(BuiltinCall &call) {
  Element element = call.element(0);
  if (element.isPointer)
    call.fail(0, DiagnosticId::NotSupported,
              "pointers to pointers are not supported yet");
  element.isPointer = true;
  return Value::type(Type(element));
}

const Type &subject(BuiltinCall &call) { return call[0].constant()->type(); }

bool isPointer(const Type &type) { return type.element.isPointer; }
bool isBlock(const Type &type) { return type.isBlock(); }
bool isFloating(const Type &type) { return type.element.isFloat(); }
bool isInteger(const Type &type) { return type.element.isInt(); }
bool isBoolean(const Type &type) { return type.element.isBool(); }
bool isSignedInt(const Type &type) {
  return type.element.isInt() && isSigned(type.element.dtype);
}
bool isUnsignedInt(const Type &type) {
  return type.element.isInt() && !isSigned(type.element.dtype);
}
bool isNarrow(const Type &type) {
  return !type.element.isPointer && isFp8(type.element.dtype);
}
bool isStandard(const Type &type) {
  return type.element.isFloat() && !isNarrow(type);
}

template <bool (*test)(const Type &)>
Value emitTest(BuiltinCall &call) {
  return Value::boolean(test(subject(call)));
}

template <DType dtype>
Value emitIs(BuiltinCall &call) {
  return Value::boolean(subject(call).element == Element{dtype, false});
}

} // namespace

void registerCasts(Registry &registry) {
  const char *signature =
      "input, dtype, fp_downcast_rounding=None, bitcast=False";
  registry.addMethod("cast", signature, emitCast);
  registry.addMethod("to", signature, emitCast);
  registry.add("to_tensor", "x", emitToTensor);
  registry.add("get_int_dtype", "bitwidth, signed", emitIntDType);
  registry.add("pointer_type", "element_ty", emitPointerType);

  auto test = [&](const char *name, BuiltinEmit emit) {
    registry.add(std::string("dtype.") + name, "self", emit);
  };
  test("is_ptr", emitTest<isPointer>);
  test("is_block", emitTest<isBlock>);
  test("is_floating", emitTest<isFloating>);
  test("is_standard_floating", emitTest<isStandard>);
  test("is_int", emitTest<isInteger>);
  test("is_bool", emitTest<isBoolean>);
  test("is_int_signed", emitTest<isSignedInt>);
  test("is_int_unsigned", emitTest<isUnsignedInt>);
  test("is_fp8", emitTest<isNarrow>);
  test("is_fp16", emitIs<DType::Fp16>);
  test("is_bf16", emitIs<DType::Bf16>);
  test("is_fp32", emitIs<DType::Fp32>);
  test("is_fp64", emitIs<DType::Fp64>);
  test("is_int1", emitIs<DType::Int1>);
  test("is_int8", emitIs<DType::Int8>);
  test("is_int16", emitIs<DType::Int16>);
  test("is_int32", emitIs<DType::Int32>);
  test("is_int64", emitIs<DType::Int64>);
  test("is_uint8", emitIs<DType::UInt8>);
  test("is_uint16", emitIs<DType::UInt16>);
  test("is_uint32", emitIs<DType::UInt32>);
  test("is_uint64", emitIs<DType::UInt64>);
}

} // namespace tessera::semantics
