// language/ConstexprValues.cpp - constexpr values of launches to and from the
// evaluator's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ConstexprValues.h"

#include "language/ValueJson.h"
#include "support/Error.h"
#include "support/Json.h"

#include <algorithm>
#include <type_traits>
#include <variant>
#include <vector>

namespace tessera::language {

Value toValue(const ConstexprValue &value) {
  return std::visit(
      [](const auto &held) -> Value {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>)
          return Value();
        else if constexpr (std::is_same_v<T, DType>)
          return Value(Value::DType{dtypeName(held)});
        else if constexpr (std::is_same_v<T, EncodedConstexpr>)
          return valueFromJson(parseJson(held.json, "a constexpr"),
                               "a constexpr");
        else
          return Value(held);
      },
      value);
}

// True if ValueJson.h can encode the value.
static bool isEncodable(const Value &value) {
  if (const std::vector<Value> *items = value.sequence())
    return std::all_of(items->begin(), items->end(), isEncodable);
  return value.isNone() || value.is<bool>() || value.is<Int>() ||
         value.is<double>() || value.is<std::string>() ||
         value.is<Value::DType>() || value.is<Value::KernelFunction>();
}

ConstexprValue fromValue(const std::string &name, const Value &value) {
  if (value.isNone())
    return nullptr;
  if (const bool *flag = value.get<bool>())
    return *flag;
  if (const auto *number = value.get<Int>();
      number && *number >= INT64_MIN && *number <= INT64_MAX)
    return int64_t(*number);
  if (const double *number = value.get<double>())
    return *number;
  if (const std::string *text = value.get<std::string>())
    return *text;
  if (const auto *type = value.get<Value::DType>())
    if (auto known = dtypeFromText(type->name))
      return *known;
  if (!value.is<Value::DType>() && isEncodable(value))
    return EncodedConstexpr{canonicalJson(toJson(value))};
  throw Error("constexpr `" + name + "` is " + value.repr() +
                  ", which a launch cannot pass on",
              "use a number, a boolean, a string, a dtype, None, a tuple or a "
              "@triton.jit function");
}

} // namespace tessera::language

tessera::ConstexprValue tessera::functionNamed(const std::string &name,
                                               const std::string &file) {
  return language::fromValue(
      name, language::Value(language::Value::KernelFunction{name, file}));
}
