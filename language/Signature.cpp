// language/Signature.cpp - classifies arguments for specialization, as Triton
// does.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Signature.h"

#include "language/KnownNames.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>
#include <limits>

namespace tessera::language {

namespace {
struct ElementInfo {
  const char *name;
  unsigned bits;
  bool isFloat;
};
} // namespace

static constexpr ElementInfo elements[] = {
    {"fp64", 64, true}, {"fp32", 32, true},   {"fp16", 16, true},
    {"bf16", 16, true}, {"fp8e4nv", 8, true}, {"fp8e5", 8, true},
    {"i1", 1, false},   {"i8", 8, false},     {"i16", 16, false},
    {"i32", 32, false}, {"i64", 64, false},   {"u8", 8, false},
    {"u16", 16, false}, {"u32", 32, false},   {"u64", 64, false}};

static const ElementInfo *findElement(std::string_view name) {
  for (const ElementInfo &element : elements)
    if (name == element.name)
      return &element;
  return nullptr;
}

const std::vector<std::string> &elementTypeNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const ElementInfo &element : elements)
      result.push_back(element.name);
    return result;
  }();
  return names;
}

unsigned elementBits(std::string_view element) {
  const ElementInfo *info = findElement(element);
  return info ? info->bits : 0;
}

bool isFloatElement(std::string_view element) {
  const ElementInfo *info = findElement(element);
  return info && info->isFloat;
}

bool isSignedElement(std::string_view element) {
  return element.starts_with("i") && element != "i1";
}

const char *argKindName(ArgKind kind) {
  static const char *const names[] = {"pointer", "int", "float", "constexpr"};
  return names[int(kind)];
}

std::optional<ArgClass> ArgClass::parse(std::string_view text) {
  ArgClass result;
  if (text.starts_with('*')) {
    result.pointer = true;
    text.remove_prefix(1);
  }
  if (text.ends_with(":16")) {
    result.divisible = true;
    text.remove_suffix(3);
  }
  const ElementInfo *info = findElement(text);
  if (!info)
    return std::nullopt;
  // Only addresses and integer indices can have a divisibility.
  if (result.divisible && !result.pointer && (info->isFloat || info->bits == 1))
    return std::nullopt;
  result.element = info->name;
  return result;
}

std::string ArgClass::str() const {
  return (pointer ? "*" : "") + element + (divisible ? ":16" : "");
}

int Signature::find(std::string_view name) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name)
      return int(i);
  return -1;
}

const TupleParameter *Signature::findTuple(std::string_view name) const {
  for (const TupleParameter &tuple : tuples)
    if (tuple.name == name)
      return &tuple;
  return nullptr;
}

static Argument constexprArgument(const KernelParameter &parameter,
                                  Value value) {
  if (const auto *named = value.get<Value::Named>()) {
    const std::string hint = nearestTypeHint(named->path);
    throw Error("argument `" + parameter.name + "` is " +
                    quotedName(named->path) +
                    ", which is not a value that a constexpr can have",
                hint.empty() ? "pass a number, a bool, a string, a dtype such "
                               "as tl.float32, None or a tuple"
                             : hint);
  }
  if (value.is<Value::Function>())
    throw Error("argument `" + parameter.name + "` is a " + value.kindName() +
                    ", which kernels cannot call",
                "pass a function that is decorated with @triton.jit");
  if (value.is<Value::Dict>() || value.is<Value::Config>())
    throw Error("argument `" + parameter.name + "` is a " + value.kindName() +
                    ", which cannot be a constexpr",
                "pass a number, a bool, a string, a dtype, None, a tuple or a "
                "@triton.jit function");
  if (const std::vector<Value> *items = value.sequence())
    for (const Value &item : *items)
      constexprArgument(parameter, item);
  Argument result;
  result.name = parameter.name;
  result.value = std::move(value);
  return result;
}

static Argument classArgument(const KernelParameter &parameter,
                              const ArgClass &argClass) {
  Argument result;
  result.name = parameter.name;
  result.type = argClass.str();
  result.kind = argClass.pointer                   ? ArgKind::Pointer
                : isFloatElement(argClass.element) ? ArgKind::Float
                                                   : ArgKind::Int;
  return result;
}

static Argument specializePointer(const KernelParameter &parameter,
                                  const PointerValue &pointer) {
  if (!findElement(pointer.element))
    throw Error(
        "argument `" + parameter.name + "` points to `" + pointer.element +
            "`, which is not an element type",
        nearestNameHint(pointer.element, elementTypeNames(), "element types"));
  if (parameter.isConstexpr)
    throw Error("argument `" + parameter.name +
                    "` is a pointer, the parameter a tl.constexpr",
                "pass a compile-time value");
  bool special =
      !parameter.doNotSpecialize && !parameter.doNotSpecializeAlignment;
  return classArgument(
      parameter, {true, pointer.element, special && pointer.address % 16 == 0});
}

static Argument specializeInt(const KernelParameter &parameter, Int value) {
  if (value == 1 && !parameter.doNotSpecialize)
    return constexprArgument(parameter, Value(1));
  ArgClass result;
  if (value >= std::numeric_limits<int32_t>::min() &&
      value <= std::numeric_limits<int32_t>::max())
    result.element = "i32";
  else if (value >= std::numeric_limits<int64_t>::min() &&
           value <= std::numeric_limits<int64_t>::max())
    result.element = "i64";
  else if (value > 0 && value <= Int(std::numeric_limits<uint64_t>::max()))
    result.element = "u64";
  else
    throw Error("argument `" + parameter.name + "` is " + printInt(value) +
                    ", which does not fit 64 bits",
                "kernels compute with at most 64 bits");
  result.divisible = !parameter.doNotSpecialize &&
                     !parameter.doNotSpecializeAlignment && value % 16 == 0;
  return classArgument(parameter, result);
}

// Returns the argument of a number whose parameter declares its type.
static Argument specializeDeclared(const KernelParameter &parameter,
                                   const Value &value) {
  const std::string &element = parameter.declared;
  const bool isFloat = isFloatElement(element);
  const auto refuse = [&](const std::string &hint) {
    throw Error("argument `" + parameter.name + "` is " + value.repr() +
                    ", and the parameter is annotated with " + element,
                hint);
  };
  if (value.is<double>() != isFloat)
    refuse(isFloat
               ? "pass a float such as 1.0"
               : "pass an integer, or annotate the parameter with tl.float32");
  if (isFloat && elementBits(element) < 32)
    refuse("numbers are passed in 32 or 64 bits: annotate it with tl.float32 "
           "and convert it in the kernel");
  ArgClass result{false, element, false};
  const std::optional<Int> number = value.asInt();
  if (number && !isFloat) {
    // The key of a launch tells numbers outside of the range from others. An
    // unsigned type takes negative numbers modulo its size, as in Triton, where
    // i1 is unsigned.
    const Int size = Int(1) << elementBits(element);
    const Int least = -size / 2;
    const Int most = (isSignedElement(element) ? size / 2 : size) - 1;
    if (*number < least || *number > most)
      refuse(
          "pass a number from " + printInt(least) + " to " + printInt(most) +
          ", or annotate the parameter with " +
          (elementBits(element) < 64 ? "tl.int64" : "tl.int64 or tl.uint64"));
  }
  result.divisible = number && !isFloat && element != "i1" &&
                     !parameter.doNotSpecialize &&
                     !parameter.doNotSpecializeAlignment && *number % 16 == 0;
  return classArgument(parameter, result);
}

Argument specialize(const KernelParameter &parameter, const Actual &actual) {
  if (const auto *pointer = std::get_if<PointerValue>(&actual))
    return specializePointer(parameter, *pointer);
  const Value &value = std::get<Value>(actual);
  if (parameter.isConstexpr || value.isNone())
    return constexprArgument(parameter, value);
  if (!parameter.declared.empty() &&
      (value.is<bool>() || value.is<double>() || value.is<Int>()))
    return specializeDeclared(parameter, value);
  if (value.is<bool>())
    return classArgument(parameter, {false, "i1", false});
  if (value.is<double>())
    return classArgument(parameter, {false, "fp32", false});
  if (const Int *number = value.get<Int>())
    return specializeInt(parameter, *number);
  return constexprArgument(parameter, value);
}

std::vector<Argument> specialize(const Signature &signature,
                                 const std::vector<Actual> &actuals) {
  if (actuals.size() > signature.parameters.size())
    throw Error("kernel `" + signature.kernel + "` takes " +
                    std::to_string(signature.parameters.size()) +
                    " arguments, got " + std::to_string(actuals.size()),
                "pass one argument for each parameter");
  std::vector<Argument> result;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const KernelParameter &parameter = signature.parameters[i];
    if (i < actuals.size())
      result.push_back(specialize(parameter, actuals[i]));
    else if (parameter.hasDefault)
      result.push_back(specialize(parameter, parameter.defaultValue));
    else
      throw Error("kernel `" + signature.kernel + "`: argument `" +
                      parameter.name + "` is missing",
                  "it has no default: pass it");
  }
  return result;
}

std::string declaredElement(std::string_view annotation) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"int1", "i1"},       {"uint1", "i1"},     {"u1", "i1"},
      {"int8", "i8"},       {"int16", "i16"},    {"int32", "i32"},
      {"int64", "i64"},     {"uint8", "u8"},     {"uint16", "u16"},
      {"uint32", "u32"},    {"uint64", "u64"},   {"float16", "fp16"},
      {"bfloat16", "bf16"}, {"float32", "fp32"}, {"float64", "fp64"}};
  for (const auto &[name, element] : names)
    if (annotation == name || annotation == element)
      return std::string(element);
  return "";
}

// Returns a hint for names of tl and torch, such as "float32" for "fp32".
static std::string elementHint(std::string_view element) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"float", "fp32"},    {"float16", "fp16"}, {"float32", "fp32"},
      {"float64", "fp64"},  {"half", "fp16"},    {"double", "fp64"},
      {"bfloat16", "bf16"}, {"int", "i32"},      {"int8", "i8"},
      {"int16", "i16"},     {"int32", "i32"},    {"int64", "i64"},
      {"long", "i64"},      {"uint8", "u8"},     {"uint16", "u16"},
      {"uint32", "u32"},    {"uint64", "u64"},   {"bool", "i1"}};
  for (auto [word, meant] : words)
    if (element == word)
      return "in signatures it is called `" + std::string(meant) + "`";
  return nearestNameHint(element, elementTypeNames(), "element types");
}

Argument argumentFromValue(const KernelParameter &parameter,
                           const Value &value) {
  const std::string *text = value.get<std::string>();
  if (const std::vector<Value> *items = value.sequence();
      items && !parameter.isConstexpr &&
      std::any_of(items->begin(), items->end(), [](const Value &item) {
        return item.is<std::string>() || item.sequence();
      }))
    throw Error(
        "argument `" + parameter.name + "` is one value, and a tuple of " +
            std::to_string(items->size()) + " types is given",
        "annotate the parameter with the tuple's type: " + parameter.name +
            ": Rows for a class of NamedTuple, or " + parameter.name +
            ": tuple[tl.tensor, tl.tensor]");
  if (parameter.isConstexpr || !text)
    return constexprArgument(parameter, value);
  std::optional<ArgClass> argClass = ArgClass::parse(*text);
  if (!argClass) {
    std::string_view element = *text;
    element.remove_prefix(element.starts_with('*') ? 1 : 0);
    element = element.substr(0, element.find(':'));
    throw Error("argument `" + parameter.name + "`: \"" + *text +
                    "\" is not a type of an argument",
                findElement(element)
                    ? std::string("write \"*fp32:16\" for pointers and "
                                  "\"i32:16\" for integers; 16 is the only "
                                  "divisor, and floats have none")
                    : elementHint(element));
  }
  return classArgument(parameter, *argClass);
}

} // namespace tessera::language
