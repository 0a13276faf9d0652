// language/Constexprs.cpp - element types and constexpr values as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Constexprs.h"

#include "language/Value.h"
#include "support/Error.h"
#include "support/Json.h"

#include <array>

namespace tessera {

static constexpr std::array<const char *, 15> names = {
    "i1",  "i8",   "i16",  "i32",  "i64",  "u8",      "u16",  "u32",
    "u64", "fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5"};

const char *dtypeName(DType type) { return names[size_t(type)]; }

std::optional<DType> dtypeFromText(std::string_view text) {
  if (text.substr(0, 3) == "tl.")
    text.remove_prefix(3);
  const auto shortName = language::dtypeFromName(text);
  for (size_t i = 0; i < names.size(); ++i)
    if (text == names[i] || (shortName && *shortName == names[i]))
      return DType(i);
  return std::nullopt;
}

static ConstexprValue fromJson(const std::string &name, const Json &value) {
  switch (value.type()) {
  case Json::value_t::null:
    return nullptr;
  case Json::value_t::boolean:
    return value.get<bool>();
  case Json::value_t::number_integer:
    return value.get<int64_t>();
  case Json::value_t::number_unsigned:
    if (value.get<uint64_t>() <= uint64_t(INT64_MAX))
      return value.get<int64_t>();
    break;
  case Json::value_t::number_float:
    return value.get<double>();
  case Json::value_t::string: {
    std::string text = value.get<std::string>();
    if (text.rfind("tl.", 0) != 0)
      return text;
    if (auto type = dtypeFromText(text))
      return *type;
    throw Error("constexpr `" + name + "`: `" + text + "` is not a dtype",
                "write for example \"tl.float32\"");
  }
  default:
    break;
  }
  throw Error("constexpr `" + name + "` cannot be " + value.dump(),
              "give a number, a boolean, a string or null");
}

Constexprs constexprsFromJson(std::string_view text) {
  const Json object = parseJson(text.empty() ? "{}" : text, "constexprs");
  if (!object.is_object())
    throw Error("constexprs must be a JSON object",
                "write {\"NAME\": value, ...}");
  Constexprs result;
  for (const auto &item : object.items())
    result[item.key()] = fromJson(item.key(), item.value());
  return result;
}

} // namespace tessera
