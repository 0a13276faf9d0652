// compiler/semantics/builtins/Program.cpp - programs, hints, loops, checks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/SmallVector.h"

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

// Hints about values. They promise, they compute nothing.
Value emitHint(BuiltinCall &call) {
  call.integers(1);
  return call[0];
}

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

Value emitNothing(BuiltinCall &) { return Value::none(); }

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
  for (const Value &value : *call[1].tupleValues())
    values.push_back(emit.toTensor(value, call.what(1)).handle);
  tile::PrintOp::create(emit.builder, emit.location(), call.string(0), values,
                        call.boolean(2));
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
  registry.add("multiple_of", "input, values", emitHint);
  registry.add("max_contiguous", "input, values", emitHint);
  registry.add("max_constancy", "input, values", emitHint);
  registry.add("assume", "cond", emitAssume);
  registry.add("debug_barrier", "", emitNothing);
  // As under Triton, only a debug build checks these at run time.
  registry.add("device_assert", "cond, msg='', mask=None", emitNothing);
  registry.add("device_print", "prefix, *args, hex=False", emitDevicePrint);
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
