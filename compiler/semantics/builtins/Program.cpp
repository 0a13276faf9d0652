// compiler/semantics/builtins/Program.cpp - programs, hints, loops, checks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace tessera::semantics {
namespace {

template <typename Op>
Value emitAxis(BuiltinCall &call) {
  int64_t axis = call.integer(0);
  if (axis < 0 || axis > 2)
    call.fail(0, DiagnosticId::BadArgument,
              call.what(0) + " is " + std::to_string(axis) +
                  "; a grid has axes 0, 1 and 2");
  Type type(DType::Int32);
  return Tensor{Op::create(call.emit.builder, call.emit.location(),
                           toMlir(call.emit.context(), type), int32_t(axis)),
                type};
}

// Lowers a hint about a value. Hints compute nothing: they become attributes of
// the operation that defines the value.
template <const char *const &name>
Value emitHint(BuiltinCall &call) {
  Emitter &emit = call.emit;
  std::vector<int64_t> values = call.integers(1);
  auto *tensor = call[0].tensor();
  if (!tensor)
    return call[0];
  if (int64_t(values.size()) != std::max<int64_t>(1, tensor->type.rank()))
    call.fail(1, DiagnosticId::BadArgument,
              call.what(1) + " has " + std::to_string(values.size()) +
                  " entries for " + toString(tensor->type),
              "give one number for each dimension");
  llvm::SmallVector<int32_t> entries;
  for (int64_t value : values) {
    if (value < 1 || value > maxOf(DType::Int32))
      call.fail(1, DiagnosticId::BadArgument,
                call.what(1) + " must hold positive numbers");
    entries.push_back(int32_t(value));
  }
  if (mlir::Operation *op = tensor->handle.getDefiningOp())
    op->setAttr(name, emit.builder.getDenseI32ArrayAttr(entries));
  return call[0];
}

constexpr const char *kDivisibility = "tile.divisibility";
constexpr const char *kContiguity = "tile.contiguity";
constexpr const char *kConstancy = "tile.constancy";

Value emitAssume(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor condition = call.tensor(0);
  if (condition.type.isBlock())
    call.fail(0, DiagnosticId::BadCondition,
              "tl.assume needs a scalar, got " + toString(condition.type));
  condition = emit.truth(condition);
  tile::AssumeOp::create(emit.builder, emit.location(), condition.handle);
  return Value::none();
}

Value emitBarrier(BuiltinCall &call) {
  tile::BarrierOp::create(call.emit.builder, call.emit.location());
  return Value::none();
}

Value emitStaticAssert(BuiltinCall &call) {
  auto *constant = call[0].constant();
  if (!constant || !constant->isBool())
    call.fail(0, DiagnosticId::NotConstexpr,
              "tl.static_assert needs a compile-time boolean, got " +
                  call[0].describe(),
              "its condition may use tl.constexpr values only");
  if (!constant->truth()) {
    std::string message = call.string(1);
    call.fail(0, DiagnosticId::StaticAssert,
              "static assertion failed" +
                  (message.empty() ? "" : ": " + message));
  }
  return Value::none();
}

Value emitStaticPrint(BuiltinCall &call) {
  std::string text;
  for (const Value &value : *call[0].tupleValues()) {
    if (!text.empty())
      text += call.string(1);
    text += value.constant() ? value.constant()->str() : value.describe();
  }
  call.emit.note(DiagnosticId::StaticPrint, std::move(text));
  return Value::none();
}

Value emitDevicePrint(BuiltinCall &call) {
  Emitter &emit = call.emit;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<bool> isUnsigned;
  for (const Value &value : *call[1].tupleValues()) {
    Tensor tensor = emit.toTensor(value, call.what(1));
    if (isFp8(tensor.type.element.dtype))
      tensor = emit.cast(tensor, kFp32);
    values.push_back(tensor.handle);
    isUnsigned.push_back(tensor.type.element.isInt() &&
                         !isSigned(tensor.type.element.dtype));
  }
  bool any = llvm::is_contained(isUnsigned, true);
  tile::PrintOp::create(emit.builder, emit.location(), call.string(0), values,
                        call.boolean(2),
                        any ? emit.builder.getDenseBoolArrayAttr(isUnsigned)
                            : mlir::DenseBoolArrayAttr());
  return Value::none();
}

// As in Triton, only a debug build checks device assertions at run time.
Value emitDeviceAssert(BuiltinCall &call) {
  Emitter &emit = call.emit;
  std::string message = call.string(1);
  Tensor condition = emit.truth(call.tensor(0));
  if (!call.isNone(2)) {
    Tensor mask = emit.truth(call.tensor(2));
    Tensor outside = *emit.unary(UnaryOp::Invert, mask).tensor();
    condition = *emit.binary(BinaryOp::Or, condition, outside).tensor();
  }
  if (emit.debug)
    tile::AssertOp::create(emit.builder, emit.location(), condition.handle,
                           message);
  return Value::none();
}

Value makeRange(const Value &first, const Value &second, const Value &step) {
  Range range;
  bool single = second.isNone();
  range.start = std::make_shared<Value>(single ? Value::integer(0) : first);
  range.stop = std::make_shared<Value>(single ? first : second);
  range.step =
      std::make_shared<Value>(step.isNone() ? Value::integer(1) : step);
  return range;
}

Value emitRange(BuiltinCall &call) {
  Value value = makeRange(call[0], call[1], call[2]);
  Range range = *value.range();
  for (size_t i = 3; i < call.builtin.parameters.size(); ++i)
    if (auto *option = call[i].constant();
        option && option->asInt() && option->truth())
      range.options.emplace_back(call.name(i), *option);
  return range;
}

Value emitStaticRange(BuiltinCall &call) {
  Value value = makeRange(call[0], call[1], call[2]);
  Range range = *value.range();
  range.unroll = true;
  return range;
}

} // namespace

void registerProgram(Registry &registry) {
  registry.add("program_id", "axis", emitAxis<tile::ProgramIdOp>);
  registry.add("num_programs", "axis", emitAxis<tile::NumProgramsOp>);
  registry.add("multiple_of", "input, values", emitHint<kDivisibility>);
  registry.add("max_contiguous", "input, values", emitHint<kContiguity>);
  registry.add("max_constancy", "input, values", emitHint<kConstancy>);
  registry.add("assume", "cond", emitAssume);
  registry.add("debug_barrier", "", emitBarrier);
  registry.add("device_assert", "cond, msg='', mask=None", emitDeviceAssert);
  registry.add("device_print", "prefix, *args, hex=False", emitDevicePrint);
  registry.add("python.print", "prefix, *args, hex=False", emitDevicePrint);
  registry.add("static_assert", "cond, msg=''", emitStaticAssert);
  registry.add("static_print", "*values, sep=' '", emitStaticPrint);
  registry.add("range",
               "arg1, arg2=None, step=None, num_stages=None, "
               "loop_unroll_factor=None, disallow_acc_multi_buffer=False, "
               "flatten=False, warp_specialize=False, disable_licm=False",
               emitRange);
  registry.add("python.range", "arg1, arg2=None, step=None", emitRange);
  registry.add("static_range", "arg1, arg2=None, step=None", emitStaticRange);
}

} // namespace tessera::semantics
