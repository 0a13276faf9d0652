// compiler/semantics/Builtins.cpp - signatures, binding, lookup.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "language/KnownNames.h"
#include "support/Names.h"
#include "support/Text.h"

namespace tessera::semantics {
namespace {

Value parseDefault(std::string_view text) {
  if (text == "None")
    return Value::none();
  if (text == "True" || text == "False")
    return Value::boolean(text == "True");
  if (text == "()")
    return Value::tuple({});
  if (text.front() == '\'')
    return Const(std::string(text.substr(1, text.size() - 2)));
  if (auto dtype = parseDType(text))
    return Value::type(Type(*dtype));
  return Value::integer(std::stoll(std::string(text)));
}

std::vector<Parameter> parseSignature(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view item = trimSpaces(text.substr(0, comma), " ");
    text = comma == text.npos ? "" : text.substr(comma + 1);
    Parameter parameter;
    if (item.front() == '*') {
      parameter.variadic = true;
      parameter.required = false;
      parameter.byDefault = Value::tuple({});
      item.remove_prefix(1);
    }
    size_t equals = item.find('=');
    parameter.name = std::string(trimSpaces(item.substr(0, equals), " "));
    if (equals != item.npos) {
      parameter.required = false;
      parameter.byDefault =
          parseDefault(trimSpaces(item.substr(equals + 1), " "));
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

} // namespace

std::string displayName(const Builtin &builtin) {
  const std::string &name = builtin.name;
  for (const char *prefix : {"python.", "method."})
    if (name.rfind(prefix, 0) == 0)
      return name.substr(7);
  if (name.rfind("triton.", 0) == 0 || name.rfind("dtype.", 0) == 0 ||
      name.rfind("descriptor.", 0) == 0)
    return name;
  return "tl." + name;
}

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry filled;
    registerCreation(filled);
    registerMemory(filled);
    registerDescriptors(filled);
    registerAtomics(filled);
    registerMath(filled);
    registerShape(filled);
    registerReduce(filled);
    registerCombine(filled);
    registerMapElementwise(filled);
    registerAssembly(filled);
    registerDot(filled);
    registerCasts(filled);
    registerQuestions(filled);
    registerProgram(filled);
    registerPython(filled);
    return filled;
  }();
  return registry;
}

void Registry::add(std::string name, std::string signature, BuiltinEmit emit) {
  Builtin builtin{name, signature, parseSignature(signature), emit, false};
  builtins.emplace(std::move(name), std::move(builtin));
}

void Registry::addMethod(std::string name, std::string signature,
                         BuiltinEmit emit) {
  Builtin builtin{name, signature, parseSignature(signature), emit, true};
  builtins.emplace(std::move(name), std::move(builtin));
}

const Builtin *Registry::find(std::string_view name) const {
  auto it = builtins.find(name);
  return it == builtins.end() ? nullptr : &it->second;
}

std::string Registry::nearest(std::string_view name) const {
  size_t dot = name.rfind('.');
  std::string_view prefix = dot == name.npos ? "" : name.substr(0, dot + 1);
  std::vector<std::string> candidates;
  for (const auto &[known, builtin] : builtins)
    if (known.substr(0, prefix.size()) == prefix &&
        known.find('.', prefix.size()) == known.npos)
      candidates.push_back(known);
  std::vector<std::string> words;
  for (const std::string &candidate : candidates)
    words.push_back(candidate.substr(prefix.size()));
  return nearestName(name.substr(prefix.size()), words);
}

BuiltinCall::BuiltinCall(Emitter &emit, const Builtin &builtin,
                         std::vector<Argument> arguments)
    : emit(emit), builtin(builtin) {
  const auto &parameters = builtin.parameters;
  std::string name = displayName(builtin);
  values.resize(parameters.size());
  ranges.assign(parameters.size(), emit.site.range);
  std::vector<bool> given(parameters.size());
  auto signature = [&] {
    return "it is " + name + "(" + builtin.signature + ")";
  };
  auto failAt = [&](const Argument &argument, DiagnosticId id,
                    std::string message, std::string hint) {
    emit.site.range = argument.range;
    emit.fail(id, std::move(message), std::move(hint));
  };
  size_t next = 0;
  std::vector<Value> rest;
  for (Argument &argument : arguments) {
    size_t index = parameters.size();
    if (argument.keyword.empty()) {
      if (next < parameters.size() && parameters[next].variadic) {
        rest.push_back(argument.value);
        ranges[next] = argument.range;
        continue;
      }
      index = next++;
      if (index >= parameters.size())
        failAt(argument, DiagnosticId::TooManyArguments,
               name + " takes at most " + std::to_string(parameters.size()) +
                   " argument" + (parameters.size() == 1 ? "" : "s"),
               signature());
    } else {
      for (size_t i = 0; i < parameters.size(); ++i)
        if (parameters[i].name == argument.keyword && !parameters[i].variadic)
          index = i;
      if (index == parameters.size()) {
        std::vector<std::string> names;
        for (const Parameter &parameter : parameters)
          names.push_back(parameter.name);
        std::string nearest = nearestName(argument.keyword, names);
        failAt(argument, DiagnosticId::UnknownKeyword,
               name + " has no argument `" + argument.keyword + "`",
               nearest.empty() ? signature()
                               : "did you mean `" + nearest + "`?");
      }
      if (given[index])
        failAt(argument, DiagnosticId::DuplicateArgument,
               name + ": `" + argument.keyword + "` is given twice",
               signature());
    }
    given[index] = true;
    values[index] = std::move(argument.value);
    ranges[index] = argument.range;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].variadic)
      values[i] = Value::tuple(std::move(rest));
    else if (!given[i] && parameters[i].required)
      emit.fail(DiagnosticId::MissingArgument,
                name + " needs `" + parameters[i].name + "`", signature());
    else if (!given[i])
      values[i] = parameters[i].byDefault;
  }
}

std::string BuiltinCall::what(size_t index) const {
  return displayName(builtin) + ": `" + name(index) + "`";
}

void BuiltinCall::fail(size_t index, DiagnosticId id, std::string message,
                       std::string hint) const {
  emit.site.range = ranges[index];
  emit.fail(id, std::move(message), std::move(hint));
}

Tensor BuiltinCall::tensor(size_t index) const {
  const Value &value = values[index];
  auto *constant = value.constant();
  if (!value.tensor() && !(constant && constant->isNumber()))
    fail(index, DiagnosticId::BadArgument,
         what(index) + " must be a number or a block, got " + value.describe(),
         value.isNone()         ? "do this only `if` it `is not None`"
         : value.blockPointer() ? "load it first: tl.load(" + text(index) + ")"
         : value.aggregate()    ? fieldHint(value, operandText(index))
         : value.tupleValues()
             ? "index the tuple: " + operandText(index) + "[0]"
             : "");
  return emit.toTensor(value);
}

Tensor BuiltinCall::floats(size_t index) const {
  Tensor value = tensor(index);
  DType dtype = value.type.element.dtype;
  if (!value.type.element.isFloat() || bitWidth(dtype) < 32)
    fail(index, DiagnosticId::BadArgument,
         what(index) + " must be fp32 or fp64, got " + toString(value.type),
         value.type.element.isPointer
             ? "load the values first: tl.load(" + text(index) + ")"
             : "convert it: " + operandText(index) + ".to(tl.float32)");
  return value;
}

Tensor BuiltinCall::pointer(size_t index) const {
  auto *value = values[index].tensor();
  if (!value || !value->type.element.isPointer)
    fail(index, DiagnosticId::BadPointer,
         what(index) + " must be a pointer, got " + values[index].describe(),
         values[index].aggregate()
             ? fieldHint(values[index], operandText(index))
         : values[index].tupleValues()
             ? "a tuple is not a pointer: is a comma too much where it is made?"
         : values[index].isNone()
             ? "do this only `if` the argument `is not None`"
             : "pointers are the tensor arguments of the kernel, plus offsets");
  return *value;
}

static std::string constexprHint(const Value &value, const SourceRange &range) {
  return value.isDynamic() ? quoteConstexprHint(range) : "";
}

bool BuiltinCall::boolean(size_t index) const {
  auto *constant = values[index].constant();
  if (!constant)
    fail(index, DiagnosticId::NotConstexpr,
         what(index) + " must be known at compile time, got " +
             values[index].describe(),
         constexprHint(values[index], ranges[index]));
  return constant->truth();
}

int64_t BuiltinCall::integer(size_t index) const {
  auto *constant = values[index].constant();
  auto value = constant ? constant->asInt() : std::nullopt;
  if (!value || *value > maxOf(DType::Int64) || *value < minOf(DType::Int64))
    fail(index, DiagnosticId::NotConstexpr,
         what(index) + " must be a compile-time integer, got " +
             values[index].describe(),
         values[index].tensor() && name(index) == "axis" &&
                 (builtin.name == "max" || builtin.name == "min")
             ? "of two values take tl." + builtin.name + "imum(" + text(0) +
                   ", " + text(index) + ")"
         : constant && constant->isFloat()
             ? "`/` gives a float: divide with //, or write int(" +
                   text(index) + ")"
             : constexprHint(values[index], ranges[index]));
  return int64_t(*value);
}

std::string BuiltinCall::string(size_t index) const {
  auto *constant = values[index].constant();
  if (constant && constant->isNone())
    return "";
  if (!constant || !constant->isString())
    fail(index, DiagnosticId::NotConstexpr,
         what(index) + " must be a string, got " + values[index].describe(),
         "write the word in quotes");
  return constant->string();
}

Element BuiltinCall::element(size_t index) const {
  auto *constant = values[index].constant();
  if (constant && constant->isType()) {
    const Element element = constant->type().element;
    if (!hasValues(element.dtype))
      fail(index, DiagnosticId::NotSupported,
           what(index) + ": there are no values of " +
               tlName({element.dtype, false}) + " here",
           "kernels may compare with such types, as in x.dtype == " +
               tlName({element.dtype, false}) +
               "; values of 8 bits are tl.float8e4nv and tl.float8e5");
    return element;
  }
  std::string hint;
  if (constant && constant->isString() && parseDType(constant->string()))
    hint = "types are values, not texts: write tl." + constant->string();
  else if (constant && constant->isString())
    hint = language::nearestTypeHint("triton.language." + constant->string());
  else if (values[index].tensor())
    hint = "write " + operandText(index) + ".dtype";
  else if (auto *python = values[index].as<BuiltinRef>();
           python && !python->self)
    hint = python->builtin->name == "python.float"
               ? "a type has a width: tl.float32 or tl.float64"
           : python->builtin->name == "python.int"
               ? "a type has a width: tl.int32 or tl.int64"
               : "tl.int1 is the type of truth values";
  if (hint.empty())
    hint = "write a type such as tl.float32 or tl.int32, or the .dtype of a "
           "block";
  fail(index, DiagnosticId::BadArgument,
       what(index) + " must be a type such as tl.float32, got " +
           values[index].describe(),
       hint);
}

std::vector<int64_t> BuiltinCall::integers(size_t index) const {
  const Value *list = &values[index];
  // A variadic parameter may hold one tuple: f(x, (1, 0)) is f(x, 1, 0).
  if (auto *items = list->tupleValues();
      items && items->size() == 1 && items->front().tupleValues())
    list = &items->front();
  std::vector<int64_t> result;
  auto push = [&](const Value &value) {
    auto *constant = value.constant();
    auto number = constant ? constant->asInt() : std::nullopt;
    if (!number || *number > (1ll << 40) || *number < -(1ll << 40))
      fail(index, DiagnosticId::NotConstexpr,
           what(index) + " must hold compile-time integers, got " +
               value.describe(),
           constant && constant->isFloat()
               ? "`/` gives a float: divide with //"
               : constexprHint(value, ranges[index]));
    result.push_back(int64_t(*number));
  };
  if (auto *items = list->tupleValues())
    for (const Value &item : *items)
      push(item);
  else
    push(*list);
  return result;
}

Shape BuiltinCall::shape(size_t index) const {
  Shape shape = integers(index);
  emit.site.range = ranges[index];
  emit.checkShape(shape);
  return shape;
}

int64_t BuiltinCall::axis(size_t index, int64_t rank) const {
  int64_t axis = integer(index);
  if (axis < -rank || axis >= rank)
    fail(index, DiagnosticId::BadArgument,
         what(index) + " is " + std::to_string(axis) +
             ", outside the dimensions of a block of rank " +
             std::to_string(rank),
         rank == 0 ? "it is a scalar already"
         : rank == 1
             ? "a block of rank 1 has axis 0"
             : "axes count from 0: use 0 to " + std::to_string(rank - 1));
  return axis < 0 ? axis + rank : axis;
}

} // namespace tessera::semantics
