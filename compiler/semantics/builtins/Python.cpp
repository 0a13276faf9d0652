// compiler/semantics/builtins/Python.cpp - lowers Python builtins: len, int,
// float, min, max ...
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"
#include "compiler/semantics/Constants.h"
#include "language/Tree.h"

#include <algorithm>
#include <cmath>

namespace tessera::semantics {
namespace {

const Const &known(BuiltinCall &call, size_t index) {
  auto *constant = call[index].constant();
  if (!constant)
    call.fail(index, DiagnosticId::NotConstexpr,
              call.what(index) + " must be known at compile time, got " +
                  call[index].describe(),
              "convert it while the kernel runs: " + call.operandText(index) +
                  (call.builtin.name == "python.int" ? ".to(tl.int32)"
                                                     : ".to(tl.float32)"));
  return *constant;
}

Value emitFloat(BuiltinCall &call) {
  const Const &value = known(call, 0);
  if (auto number = value.asFloat())
    return Const(*number);
  auto parsed = value.isString() ? parseFloat(value.string()) : std::nullopt;
  if (!parsed)
    call.fail(0, DiagnosticId::BadArgument,
              "float() does not understand " + value.kindName() + " `" +
                  value.str() + "`",
              "as in float(\"-inf\")");
  return Const(*parsed);
}

Value emitInt(BuiltinCall &call) {
  const Const &value = known(call, 0);
  if (auto number = value.asInt())
    return Const(*number);
  if (value.isFloat() && std::fabs(*value.asFloat()) < 0x1p126)
    return Const(Const::Int(std::trunc(*value.asFloat())));
  call.fail(0, DiagnosticId::BadArgument,
            "int() cannot convert " + value.kindName() + " `" + value.str() +
                "`",
            "it takes a compile-time number");
}

Value emitBool(BuiltinCall &call) {
  return Value::boolean(known(call, 0).truth());
}

Value emitLen(BuiltinCall &call) {
  if (auto *values = call[0].tupleValues())
    return Value::integer(int64_t(values->size()));
  if (auto *dict = call[0].dict())
    return Value::integer(int64_t(dict->items.size()));
  if (auto *constant = call[0].constant(); constant && constant->isString())
    return Value::integer(int64_t(constant->string().size()));
  call.fail(0, DiagnosticId::BadArgument,
            "len() needs a tuple, got " + call[0].describe(),
            call[0].aggregate() ? fieldHint(call[0], call.operandText(0))
                                : "the length of a block is " +
                                      call.operandText(0) + ".shape[0]");
}

template <bool isMax>
Value emitExtreme(BuiltinCall &call) {
  std::vector<Value> values = *call[0].tupleValues();
  if (values.size() == 1 && values[0].tupleValues())
    values = std::vector<Value>(*values[0].tupleValues());
  if (values.empty() || (values.size() == 1 && !values[0].constant()))
    call.fail(0, DiagnosticId::BadArgument,
              std::string(isMax ? "max" : "min") +
                  "() needs at least two values",
              std::string("for the extreme element of a block write tl.") +
                  (isMax ? "max(" : "min(") + call.text(0) + ", axis=0)");
  Value best = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const Value &next = values[i];
    if (best.constant() && next.constant()) {
      auto op = isMax ? CompareOp::Gt : CompareOp::Lt;
      if (call.emit.compare(op, next, best).constant()->truth())
        best = next;
    } else {
      best = emitMaximum(call.emit, best, next, isMax, false);
    }
  }
  return best;
}

Value emitNextPowerOf2(BuiltinCall &call) {
  auto number = known(call, 0).asInt();
  if (!number || *number > (Const::Int(1) << 62))
    call.fail(0, DiagnosticId::BadArgument,
              "triton.next_power_of_2 needs an integer, got " +
                  call[0].describe());
  Const::Int power = 1;
  while (power < *number)
    power <<= 1;
  return Value::integer(*number == 0 ? Const::Int(0) : power);
}

// Accepts a run-time value too and returns it unchanged, as in Triton.
Value emitConstexpr(BuiltinCall &call) { return call[0]; }

// True if a value is an object of an aggregate or of a class of NamedTuple. The
// tuple of a launch has field names and no class.
bool isObjectOf(const Value &value, const language::FunctionDef &type) {
  const language::FunctionDef *own = value.tupleFields();
  if (!own || own == &type || own->isAggregate || type.isAggregate ||
      !own->name.empty())
    return own == &type;
  return std::ranges::equal(own->parameters, type.parameters, {},
                            &language::Parameter::name,
                            &language::Parameter::name);
}

// True if a value is an instance of a class, which has the name that kernels
// use, or of one of several classes.
bool isOfClass(BuiltinCall &call, const Value &value, const Value &kind) {
  auto *constant = value.constant();
  if (auto *several = kind.tupleValues())
    return std::ranges::any_of(*several, [&](const Value &one) {
      return isOfClass(call, value, one);
    });
  if (auto *type = kind.as<FunctionRef>(); type && type->def->isNamedTuple)
    return isObjectOf(value, *type->def);
  if (auto *module = kind.as<ModuleRef>()) {
    if (module->path == "tl.tensor")
      return value.tensor() || value.blockPointer();
    if (module->path == "tl.dtype")
      return constant && constant->isType();
    if (module->path.rfind("tl.tensor_descriptor", 0) == 0)
      return value.descriptor() != nullptr;
  }
  if (auto *function = kind.as<BuiltinRef>(); function && !function->self) {
    const std::string &name = function->builtin->name;
    if (name == "python.int")
      return constant && (constant->isInt() || constant->isBool());
    if (name == "python.float")
      return constant && constant->isFloat();
    if (name == "python.bool")
      return constant && constant->isBool();
    if (name == "python.tuple" || name == "tuple")
      return value.tupleValues() != nullptr;
    // Compile-time values are Python numbers here; none is a tl.constexpr.
    if (name == "constexpr")
      return false;
    if (name == "block_type")
      return constant && constant->isType() && constant->type().isBlock();
    if (name == "pointer_type")
      return constant && constant->isType() &&
             constant->type().element.isPointer && !constant->type().isBlock();
  }
  call.fail(1, DiagnosticId::BadArgument,
            "isinstance() does not know " + kind.describe(),
            "ask for tl.tensor, tl.dtype, tl.tensor_descriptor, int, float, "
            "bool, tuple, an aggregate or a class of NamedTuple; the type of "
            "elements is x.dtype");
}

Value emitIsInstance(BuiltinCall &call) {
  return Value::boolean(isOfClass(call, call[0], call[1]));
}

Value emitGetAttr(BuiltinCall &call) {
  const std::string name = call.string(1);
  if (auto value = call.emit.attribute(call[0], name))
    return *value;
  if (call[2].tupleValues()->empty())
    call.fail(0, DiagnosticId::UnknownAttribute,
              call[0].describe() + " has no attribute `" + name + "`",
              "give a default as the third argument");
  return call[2].tupleValues()->front();
}

Value emitHasAttr(BuiltinCall &call) {
  return Value::boolean(
      call.emit.attribute(call[0], call.string(1)).has_value());
}

Value emitTuple(BuiltinCall &call) {
  if (!call[0].tupleValues())
    call.fail(0, DiagnosticId::BadArgument,
              "a tuple is made of a tuple or list, got " + call[0].describe(),
              call[0].aggregate() ? fieldsHint(call[0], call.operandText(0))
                                  : "write the values in parentheses: (a, b)");
  return call[0];
}

} // namespace

// Lowering::call handles the call itself, because the keywords are fields.
static Value emitReplace(BuiltinCall &call) {
  call.fail(0, DiagnosticId::NotCallable,
            "tl.aggregate_replace is called by its name only",
            "write tl.aggregate_replace(value, field=...)");
}

void registerPython(Registry &registry) {
  registry.add("aggregate_replace", "value, *fields", emitReplace);
  registry.add("python.float", "x", emitFloat);
  registry.add("python.int", "x", emitInt);
  registry.add("python.bool", "x", emitBool);
  registry.add("python.len", "x", emitLen);
  registry.add("python.max", "*values", emitExtreme<true>);
  registry.add("python.min", "*values", emitExtreme<false>);
  registry.add("python.isinstance", "x, kind", emitIsInstance);
  registry.add("python.getattr", "x, name, *default", emitGetAttr);
  registry.add("python.hasattr", "x, name", emitHasAttr);
  registry.add("python.tuple", "x", emitTuple);
  registry.add("tuple", "x", emitTuple);
  registry.add("constexpr", "value", emitConstexpr);
  registry.add("triton.next_power_of_2", "n", emitNextPowerOf2);
}

} // namespace tessera::semantics
