// compiler/semantics/Value.cpp - values as Python sees them, and their IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Value.h"

#include "compiler/semantics/Builtins.h"
#include "compiler/semantics/Constants.h"
#include "language/Tree.h"

#include <algorithm>
#include <cmath>

namespace tessera::semantics {

std::optional<Const::Int> Const::asInt() const {
  if (auto *value = std::get_if<bool>(&data))
    return Int(*value);
  if (auto *value = std::get_if<Int>(&data))
    return *value;
  return std::nullopt;
}

std::optional<double> Const::asFloat() const {
  if (auto *value = std::get_if<double>(&data))
    return *value;
  if (auto value = asInt())
    return double(*value);
  return std::nullopt;
}

bool Const::truth() const {
  if (isNone())
    return false;
  if (auto value = asInt())
    return *value != 0;
  if (isFloat())
    return std::get<double>(data) != 0.0;
  if (isString())
    return !string().empty();
  return true;
}

bool Const::equals(const Const &other) const {
  if (auto a = asInt(), b = other.asInt(); a && b)
    return *a == *b;
  if (auto a = asFloat(), b = other.asFloat(); a && b)
    return *a == *b;
  return data == other.data;
}

std::string Const::str() const {
  if (isNone())
    return "None";
  if (isBool())
    return truth() ? "True" : "False";
  if (isInt())
    return printInt(std::get<Int>(data));
  if (isFloat())
    return printFloat(std::get<double>(data));
  if (isString())
    return string();
  return toString(type());
}

std::string Const::kindName() const {
  static const char *const kNames[] = {"None",  "bool", "int",
                                       "float", "str",  "dtype"};
  return kNames[data.index()];
}

bool Value::isDynamic() const {
  std::vector<mlir::Value> parts;
  flatten(*this, parts);
  return !parts.empty();
}

Value Value::tuple(std::vector<Value> values) {
  Tuple made;
  made.size = 1;
  for (const Value &value : values)
    made.size += value.size();
  made.values = std::move(values);
  Value result;
  result.data = std::make_shared<Tuple>(std::move(made));
  return result;
}

Value Value::namedTuple(const language::FunctionDef &fields,
                        std::vector<Value> values) {
  Value result = tuple(std::move(values));
  std::get<std::shared_ptr<Tuple>>(result.data)->fields = &fields;
  return result;
}

const language::FunctionDef *Value::tupleFields() const {
  auto *held = as<std::shared_ptr<Tuple>>();
  return held ? (*held)->fields : nullptr;
}

const language::FunctionDef *Value::aggregate() const {
  auto *type = tupleFields();
  return type && type->isAggregate ? type : nullptr;
}

Value Value::tupleLike(const Value &like, std::vector<Value> values) {
  if (auto *fields = like.tupleFields())
    return namedTuple(*fields, std::move(values));
  return tuple(std::move(values));
}

size_t Value::size() const {
  auto *held = as<std::shared_ptr<Tuple>>();
  return held ? (*held)->size : 1;
}

std::string Value::describe() const {
  if (auto *value = tensor())
    return toString(value->type);
  if (auto *value = constant())
    return value->isNone()     ? "None"
           : value->isString() ? "the text '" + value->str() + "'"
                               : "constexpr " + value->str();
  if (auto *type = aggregate())
    return "aggregate " + type->name;
  if (auto *values = tupleValues())
    return "a tuple of " + std::to_string(values->size());
  if (blockPointer())
    return "a block pointer";
  if (auto *value = descriptor())
    return "a descriptor of " +
           toString(Type(value->base.type.element.dtype, value->block));
  if (auto *value = as<ModuleRef>())
    return "module " + value->path;
  if (auto *value = as<FunctionRef>())
    return "function " + std::string(value->def->name);
  if (auto *value = as<BuiltinRef>())
    return "function " + displayName(*value->builtin);
  if (auto *value = dict())
    return "a dict of " + std::to_string(value->items.size());
  return "a range";
}

std::string fieldHint(const Value &value, const std::string &text) {
  const auto &fields = value.aggregate()->parameters;
  return fields.empty() ? "the class has no fields"
                        : "name the field: " + text + "." + fields[0].name;
}

std::string fieldsHint(const Value &value, const std::string &text) {
  std::string list;
  for (const language::Parameter &field : value.aggregate()->parameters)
    list += (list.empty() ? "" : ", ") + text + "." + field.name;
  return list.empty() ? "the class has no fields" : "name the fields: " + list;
}

// Compares keys as Python's == does: 1 == 1.0 == True.
static bool isSameKey(const Value &a, const Value &b) {
  if (auto *left = a.constant())
    return b.constant() && left->equals(*b.constant());
  auto *left = a.tupleValues(), *right = b.tupleValues();
  return left && right &&
         std::equal(left->begin(), left->end(), right->begin(), right->end(),
                    isSameKey);
}

const Value *Dict::find(const Value &key) const {
  for (const auto &[known, value] : items)
    if (isSameKey(known, key))
      return &value;
  return nullptr;
}

void flatten(const Value &value, std::vector<mlir::Value> &parts) {
  if (auto *tensor = value.tensor()) {
    parts.push_back(tensor->handle);
  } else if (auto *values = value.members()) {
    for (const Value &item : *values)
      flatten(item, parts);
  } else if (auto *pointer = value.blockPointer()) {
    parts.push_back(pointer->base.handle);
    for (auto *list : {&pointer->shape, &pointer->strides, &pointer->offsets})
      for (const Tensor &item : *list)
        parts.push_back(item.handle);
  } else if (auto *array = value.descriptor()) {
    parts.push_back(array->base.handle);
    for (auto *list : {&array->shape, &array->strides})
      for (const Tensor &item : *list)
        parts.push_back(item.handle);
  }
}

Value rebuild(const Value &like, const std::vector<mlir::Value> &parts,
              size_t &next) {
  if (auto *tensor = like.tensor())
    return Tensor{parts[next++], tensor->type};
  if (auto *values = like.members()) {
    std::vector<Value> items;
    for (const Value &item : *values)
      items.push_back(rebuild(item, parts, next));
    return Value::tupleLike(like, std::move(items));
  }
  if (auto *pointer = like.blockPointer()) {
    BlockPointer result = *pointer;
    result.base.handle = parts[next++];
    for (auto *list : {&result.shape, &result.strides, &result.offsets})
      for (Tensor &item : *list)
        item.handle = parts[next++];
    return result;
  }
  if (auto *array = like.descriptor()) {
    Descriptor result = *array;
    result.base.handle = parts[next++];
    for (auto *list : {&result.shape, &result.strides})
      for (Tensor &item : *list)
        item.handle = parts[next++];
    return result;
  }
  return like;
}

// True if two tuples have the same field names, or neither has names. Two
// aggregates have the same class.
static bool haveSameNames(const language::FunctionDef *a,
                          const language::FunctionDef *b) {
  if (a == b || !a || !b || a->isAggregate || b->isAggregate)
    return a == b;
  return std::equal(
      a->parameters.begin(), a->parameters.end(), b->parameters.begin(),
      b->parameters.end(),
      [](const auto &x, const auto &y) { return x.name == y.name; });
}

bool sameType(const Value &a, const Value &b) {
  if (a.tensor() || b.tensor())
    return a.tensor() && b.tensor() && a.tensor()->type == b.tensor()->type;
  if (auto *left = a.members()) {
    auto *right = b.members();
    if (!right || left->size() != right->size() ||
        !haveSameNames(a.tupleFields(), b.tupleFields()))
      return false;
    for (size_t i = 0; i < left->size(); ++i)
      if (!sameType((*left)[i], (*right)[i]))
        return false;
    return true;
  }
  if (auto *left = a.blockPointer()) {
    auto *right = b.blockPointer();
    return right && left->block == right->block &&
           left->base.type == right->base.type &&
           left->shape.size() == right->shape.size();
  }
  if (auto *left = a.descriptor()) {
    auto *right = b.descriptor();
    return right && left->block == right->block &&
           left->base.type == right->base.type &&
           left->padsNan == right->padsNan &&
           left->roundsTf32 == right->roundsTf32;
  }
  if (auto *left = a.constant())
    return b.constant() && left->identical(*b.constant());
  if (auto *left = a.as<FunctionRef>())
    return b.as<FunctionRef>() && b.as<FunctionRef>()->def == left->def;
  if (auto *left = a.as<BuiltinRef>())
    return b.as<BuiltinRef>() && b.as<BuiltinRef>()->builtin == left->builtin &&
           b.as<BuiltinRef>()->self == left->self;
  if (auto *left = a.as<ModuleRef>())
    return b.as<ModuleRef>() && b.as<ModuleRef>()->path == left->path;
  if (auto *left = a.dict())
    return b.dict() &&
           std::equal(left->items.begin(), left->items.end(),
                      b.dict()->items.begin(), b.dict()->items.end(),
                      [](const auto &x, const auto &y) {
                        return sameType(x.first, y.first) &&
                               sameType(x.second, y.second);
                      });
  return false;
}

bool sameParts(const Value &a, const Value &b) {
  std::vector<mlir::Value> left, right;
  flatten(a, left);
  flatten(b, right);
  return left == right && sameType(a, b);
}

} // namespace tessera::semantics
