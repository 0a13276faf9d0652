// compiler/semantics/builtins/Casts.cpp - lowers casts and functions that
// return types.
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
  // A cast to the same type does not round, as in Triton.
  if (rounding.empty() || x.type.element == to)
    return emit.cast(x, to);
  return emit.castRounding(x, to, rounding == "rtz");
}

// Lowers tl.core.get_int_dtype(32, True), which kernels that sort by bits call.
Value emitIntDType(BuiltinCall &call) {
  auto dtype = intOfWidth(unsigned(call.integer(0)), call.boolean(1));
  if (!dtype)
    call.fail(0, DiagnosticId::BadArgument,
              "no integer of " + std::to_string(call.integer(0)) + " bits");
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

// Lowers tl.block_type(tl.float32, [64]), which kernels compare with the type
// of a block.
Value emitBlockType(BuiltinCall &call) {
  return Value::type(Type(call.element(0), call.shape(1)));
}

// Converts the text of a type in a signature: "fp32", "*bf16".
Value emitTypeOfText(BuiltinCall &call) {
  std::string text = call.string(0);
  Element element;
  element.isPointer = text.rfind('*', 0) == 0;
  auto dtype = parseDType(text.substr(element.isPointer));
  if (!dtype)
    call.fail(0, DiagnosticId::BadArgument, "no type `" + text + "`",
              "as in \"fp32\", \"i64\" or \"*bf16\"");
  element.dtype = *dtype;
  return Value::type(Type(element));
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
  registry.add("block_type", "element_ty, shape", emitBlockType);
  registry.add("dtype", "name", emitTypeOfText);
  registry.add("str_to_ty", "name, c=None", emitTypeOfText);
}

} // namespace tessera::semantics
