// compiler/semantics/Classes.cpp - makes the values of classes: tuples with
// named fields.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include <array>

namespace tessera::semantics {

// Returns the aggregate that the annotation of a field names; null for other
// annotations, and for a class that only the Python function around knows.
static const language::FunctionDef *
aggregateOf(const language::Program &program, const language::FunctionDef &type,
            const language::Parameter &field) {
  const auto *name =
      field.annotation ? field.annotation->as<language::Name>() : nullptr;
  if (!name)
    return nullptr;
  const auto symbol = program.lookup(type, name->id);
  const bool found = symbol &&
                     symbol->kind == language::Symbol::Kind::Function &&
                     symbol->function->isAggregate;
  return found ? symbol->function : nullptr;
}

// Checks a field of an aggregate against its annotation, as Triton does.
void Lowering::checkField(const language::FunctionDef &type,
                          const language::Parameter &field, const Value &value,
                          const SourceRange &range) {
  const std::string name = "field `" + field.name + "` of `" + type.name + "`";
  if (field.isConstexpr && value.isDynamic())
    fail(DiagnosticId::NotConstexpr, range,
         name + " is a tl.constexpr, but the value is " + value.describe(),
         "annotate the field with tl.tensor");
  const auto *annotation =
      field.annotation ? field.annotation->as<language::Attribute>() : nullptr;
  if (annotation && annotation->attribute == "tensor" && !value.tensor())
    fail(DiagnosticId::BadArgument, range,
         name + " is a tl.tensor, but the value is " + value.describe(),
         value.constant()
             ? "annotate the field with tl.constexpr, or pass tl.to_tensor(...)"
             : "annotate the field with the class of its value");
  const auto *wanted = aggregateOf(program, type, field);
  if (wanted && value.aggregate() != wanted)
    fail(DiagnosticId::BadArgument, range,
         name + " is a `" + wanted->name + "`, but the value is " +
             value.describe(),
         "pass " + wanted->name +
             "(...), or annotate the field with the class of its value");
}

// Runs `__init__`, whose assignments to `self.x` set the variables "self.x".
std::vector<Value> Lowering::runInit(const language::FunctionDef &type,
                                     const language::FunctionDef &init,
                                     std::vector<Argument> given,
                                     const SourceRange &range) {
  if (!init.problems.empty())
    throw CompileError(init.problems);
  Frame inner = newFrame(init, range);
  given.insert(given.begin(), Argument{"", Value::none(), range});
  bindParameters(init, std::move(given), inner);
  std::vector<Value> values;
  Entered entered(*this, inner);
  At inside(*this, init.nameRange);
  run(Rest{&init.body, 0, nullptr});
  for (const language::Parameter &field : type.parameters) {
    const auto found =
        frame().scope.find(init.parameters[0].name + "." + field.name);
    if (found == frame().scope.end())
      fail(DiagnosticId::MissingArgument, init.nameRange,
           "`__init__` of `" + type.name + "` does not set `" + field.name +
               "`",
           "assign to " + init.parameters[0].name + "." + field.name);
    values.push_back(found->second.value);
  }
  return values;
}

Value Lowering::makeFields(const language::FunctionDef &type,
                           std::vector<Argument> given,
                           const SourceRange &range) {
  std::vector<Value> values;
  if (const language::FunctionDef *init = type.method("__init__")) {
    if (init->parameters.empty())
      fail(DiagnosticId::MissingArgument, range,
           "`__init__` of `" + type.name + "` has no parameter for the object",
           "write def __init__(self, ...)");
    values = runInit(type, *init, std::move(given), range);
  } else {
    Frame fields;
    fields.function = &type;
    fields.file = type.file ? type.file : frame().file;
    bindParameters(type, std::move(given), fields);
    for (const language::Parameter &field : type.parameters)
      values.push_back(fields.scope[field.name].value);
  }
  if (type.isAggregate)
    for (size_t i = 0; i < values.size(); ++i)
      checkField(type, type.parameters[i], values[i], range);
  return Value::namedTuple(type, std::move(values));
}

std::optional<Value> Lowering::classOperator(const std::string &name,
                                             const Value &owner,
                                             std::vector<Value> arguments) {
  const language::FunctionDef *type = owner.aggregate();
  const auto *function = type ? type->method("__" + name + "__") : nullptr;
  if (!function)
    return std::nullopt;
  return call(FunctionRef{function, std::make_shared<Value>(owner)},
              std::move(arguments), emit.site.range);
}

std::optional<Value> Lowering::classOperator(const std::string &name,
                                             const std::string &reflected,
                                             const Value &a, const Value &b) {
  if (auto result = classOperator(name, a, {b}))
    return result;
  return classOperator(reflected, b, {a});
}

Value Lowering::binary(BinaryOp op, const Value &a, const Value &b) {
  static constexpr std::array<const char *, 12> kNames{
      "add", "sub",    "mul",    "truediv", "floordiv", "mod",
      "pow", "lshift", "rshift", "and",     "or",       "xor"};
  if (a.aggregate() || b.aggregate()) {
    const std::string name = kNames.at(size_t(op));
    if (auto result = classOperator(name, "r" + name, a, b))
      return *result;
  }
  return emit.binary(op, a, b);
}

// tl.aggregate_replace(value, field=...): calls the class with all fields by
// name, as Triton does.
Value Lowering::replaceFields(std::vector<Argument> given,
                              const SourceRange &range) {
  const language::FunctionDef *type = given.empty() || !given[0].keyword.empty()
                                          ? nullptr
                                          : given[0].value.tupleFields();
  if (!type || !type->isAggregate)
    fail(DiagnosticId::BadArgument, range,
         "tl.aggregate_replace needs a value of a class under "
         "@triton.aggregate" +
             (given.empty() ? "" : ", got " + given[0].value.describe()),
         "write tl.aggregate_replace(value, field=...)");
  const std::vector<Value> old = *given[0].value.members();
  const SourceRange place = given[0].range;
  given.erase(given.begin());
  for (const Argument &change : given)
    if (change.keyword.empty())
      fail(DiagnosticId::TooManyArguments, change.range,
           "tl.aggregate_replace takes one value and new fields by name",
           "write tl.aggregate_replace(value, field=...)");
  for (size_t i = 0; i < type->parameters.size(); ++i) {
    const std::string &name = type->parameters[i].name;
    bool changed = false;
    for (const Argument &change : given)
      changed |= change.keyword == name;
    if (!changed)
      given.push_back({name, old[i], place});
  }
  return makeFields(*type, std::move(given), range);
}

} // namespace tessera::semantics
