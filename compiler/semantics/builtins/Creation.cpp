// compiler/semantics/builtins/Creation.cpp - lowers arange, full, zeros and
// related builtins.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

namespace tessera::semantics {
namespace {

Value emitArange(BuiltinCall &call) {
  int64_t start = call.integer(0), end = call.integer(1);
  if (start < minOf(DType::Int32) || end > maxOf(DType::Int32))
    call.fail(1, DiagnosticId::IntegerRange, "tl.arange must fit 32 bits",
              "add the large number afterwards: tl.arange(0, n) + start");
  if (start < 0)
    call.fail(0, DiagnosticId::BadArgument,
              "tl.arange begins at 0 or above, got " + std::to_string(start),
              "move it afterwards: tl.arange(0, " +
                  std::to_string(end - start) + ") - " +
                  std::to_string(-start));
  if (end <= start)
    call.fail(1, DiagnosticId::BadArgument,
              "tl.arange(" + std::to_string(start) + ", " +
                  std::to_string(end) + ") is empty",
              "it counts upwards, from the first number to below the second: "
              "did you mean tl.arange(" +
                  call.text(1) + ", " + call.text(0) + ")?");
  Type type(DType::Int32, {end - start});
  call.emit.checkShape(type.shape);
  return Tensor{tile::RangeOp::create(call.emit.builder, call.emit.location(),
                                      toMlir(call.emit.context(), type),
                                      int32_t(start), int32_t(end)),
                type};
}

Tensor filled(BuiltinCall &call, const Shape &shape, const Value &value,
              Element element, size_t index) {
  Tensor scalar;
  if (auto *tensor = value.tensor()) {
    scalar = call.emit.unsplat(*tensor);
    scalar = call.emit.cast(scalar, element);
  } else if (element.isPointer || !value.constant()) {
    call.fail(index, DiagnosticId::BadArgument,
              call.what(index) + " cannot be " + value.describe() +
                  " for a block of " + toString(element),
              "fill with a number");
  } else {
    scalar = call.emit.number(*value.constant(), element.dtype);
  }
  return call.emit.splat(scalar, shape);
}

Value emitFull(BuiltinCall &call) {
  return filled(call, call.shape(0), call[1], call.element(2), 1);
}

Value emitZeros(BuiltinCall &call) {
  return filled(call, call.shape(0), Value::integer(0), call.element(1), 0);
}

Value emitZerosLike(BuiltinCall &call) {
  Tensor like = call.tensor(0);
  return filled(call, like.type.shape, Value::integer(0), like.type.element, 0);
}

} // namespace

void registerCreation(Registry &registry) {
  registry.add("arange", "start, end", emitArange);
  registry.add("full", "shape, value, dtype", emitFull);
  registry.add("zeros", "shape, dtype", emitZeros);
  registry.add("zeros_like", "input", emitZerosLike);
}

} // namespace tessera::semantics
