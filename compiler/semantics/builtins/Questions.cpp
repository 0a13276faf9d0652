// compiler/semantics/builtins/Questions.cpp - lowers queries of types and of
// the target.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

namespace tessera::semantics {
namespace {

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

template <bool answer>
Value emitAlways(BuiltinCall &) {
  return Value::boolean(answer);
}

// Returns the kind in the order of promotion: 0 boolean, 1 integer, 2 float.
Value emitKind(BuiltinCall &call) {
  return Value::integer(kindOf(subject(call).element.dtype));
}

template <bool isMost>
Value emitLimit(BuiltinCall &call) {
  const Type &type = subject(call);
  if (!type.element.isInt())
    call.fail(0, DiagnosticId::BadArgument,
              "the type " + toString(type) + " is not an integer",
              "of floats write float(\"inf\") and float(\"-inf\")");
  return Value::integer(isMost ? maxOf(type.element.dtype)
                               : minOf(type.element.dtype));
}

Value emitShapeOfType(BuiltinCall &call) {
  std::vector<Value> sizes;
  for (int64_t size : subject(call).shape)
    sizes.push_back(Value::integer(size));
  return Value::tuple(std::move(sizes));
}

Value emitWithElement(BuiltinCall &call) {
  return Value::type(subject(call).with(call.element(1)));
}

// The compute capability that code is made for, 80 for sm_80; 0 on cpu.
Value emitIsCuda(BuiltinCall &call) {
  return Value::boolean(call.emit.capability != 0);
}

Value emitIsAtLeast(BuiltinCall &call) {
  return Value::boolean(call.emit.capability &&
                        int64_t(call.emit.capability) >=
                            call.integer(0) * 10 + call.integer(1));
}

// Returns the loop's condition and ignores its optimization hint.
Value emitCondition(BuiltinCall &call) { return call[0]; }

} // namespace

void registerQuestions(Registry &registry) {
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
  test("is_fp8e4nv", emitIs<DType::Fp8E4Nv>);
  test("is_fp8e5", emitIs<DType::Fp8E5>);
  test("is_fp8e4b8", emitIs<DType::Fp8E4B8>);
  test("is_fp8e5b16", emitIs<DType::Fp8E5B16>);
  test("is_fp8e4b15", emitIs<DType::Fp8E4B15>);
  test("is_const", emitAlways<false>);
  test("is_void", emitAlways<false>);
  test("kind", emitKind);
  test("get_int_max_value", emitLimit<true>);
  test("get_int_min_value", emitLimit<false>);
  test("get_block_shapes", emitShapeOfType);
  registry.add("dtype.with_element_ty", "self, element_ty", emitWithElement);

  registry.add("target_info.is_cuda", "", emitIsCuda);
  registry.add("target_info.cuda_capability_geq", "major, minor=0",
               emitIsAtLeast);
  for (const char *name : {"is_hip", "is_hip_cdna3", "is_hip_cdna4"})
    registry.add(std::string("target_info.") + name, "", emitAlways<false>);
  registry.add("condition", "arg1, disable_licm=False", emitCondition);
}

} // namespace tessera::semantics
