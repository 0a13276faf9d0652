// language/ValueJson.cpp - compile-time values in JSON, without loss.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ValueJson.h"

#include <cmath>
#include <limits>

namespace tessera::language {

static constexpr unsigned maxNesting = 20;

static Json itemsToJson(const std::vector<Value> &items) {
  Json result = Json::array();
  for (const Value &item : items)
    result.push_back(toJson(item));
  return result;
}

Json toJson(const Value &value) {
  if (value.isNone())
    return nullptr;
  if (const bool *flag = value.get<bool>())
    return *flag;
  if (const Int *number = value.get<Int>()) {
    if (*number >= std::numeric_limits<int64_t>::min() &&
        *number <= std::numeric_limits<int64_t>::max())
      return int64_t(*number);
    if (*number > 0 && *number <= Int(std::numeric_limits<uint64_t>::max()))
      return uint64_t(*number);
    return Json{{"int", printInt(*number)}};
  }
  if (const double *number = value.get<double>()) {
    if (std::isfinite(*number))
      return *number;
    return Json{{"float", printFloat(*number)}};
  }
  if (const std::string *text = value.get<std::string>())
    return *text;
  if (const auto *dtype = value.get<Value::DType>())
    return Json{{"dtype", dtype->name}};
  if (const auto *tuple = value.get<Value::Tuple>()) {
    if (tuple->names.empty())
      return Json{{"tuple", itemsToJson(tuple->items)}};
    Json fields = Json::array();
    for (size_t i = 0; i < tuple->items.size(); ++i)
      fields.push_back(Json::array({tuple->names[i], toJson(tuple->items[i])}));
    return Json{{"namedtuple", fields}};
  }
  if (const auto *function = value.get<Value::KernelFunction>())
    return Json{
        {"function", (function->file.empty() ? "" : function->file + ":") +
                         function->name}};
  if (const auto *list = value.get<Value::List>())
    return Json{{"list", itemsToJson(list->items)}};
  throw Error("a " + value.kindName() + " cannot be written as JSON",
              "pass a number, a bool, a string, a dtype, None or a tuple");
}

[[noreturn]] static void malformed(const std::string &what) {
  throw Error(what + ": malformed value",
              "write null, a bool, a number, a string, or one of "
              "{\"dtype\": NAME}, {\"tuple\": [...]}, {\"list\": [...]}, "
              "{\"namedtuple\": [[NAME, ...]]}, {\"function\": NAME}, "
              "{\"float\": \"inf\"}, {\"int\": DIGITS}");
}

static Value intFromText(const std::string &text, const std::string &what) {
  bool negative = text.starts_with('-');
  unsigned __int128 size = 0;
  const auto limit = ~static_cast<unsigned __int128>(0) >> 1;
  if (text.size() == size_t(negative))
    malformed(what);
  for (char c : text.substr(negative)) {
    unsigned digit = unsigned(c - '0');
    if (c < '0' || c > '9' || size > (limit - digit) / 10)
      malformed(what);
    size = size * 10 + digit;
  }
  return Value(negative ? -Int(size) : Int(size));
}

static Value fromJson(const Json &json, const std::string &what,
                      unsigned depth);

static Value functionFromText(const std::string &text,
                              const std::string &what) {
  const size_t colon = text.rfind(':');
  Value::KernelFunction function;
  function.name = text.substr(colon == std::string::npos ? 0 : colon + 1);
  if (colon != std::string::npos)
    function.file = text.substr(0, colon);
  if (function.name.empty())
    malformed(what);
  return function;
}

static Value namedTuple(const Json &fields, const std::string &what,
                        unsigned depth) {
  Value::Tuple tuple;
  for (const Json &field : fields) {
    if (!field.is_array() || field.size() != 2 || !field[0].is_string())
      malformed(what);
    tuple.names.push_back(field[0].get<std::string>());
    tuple.items.push_back(fromJson(field[1], what, depth + 1));
  }
  return tuple;
}

static Value fromJson(const Json &json, const std::string &what,
                      unsigned depth) {
  if (depth > maxNesting)
    malformed(what);
  switch (json.type()) {
  case Json::value_t::null:
    return {};
  case Json::value_t::boolean:
    return json.get<bool>();
  case Json::value_t::number_integer:
    return json.get<int64_t>();
  case Json::value_t::number_unsigned:
    return json.get<uint64_t>();
  case Json::value_t::number_float:
    return json.get<double>();
  case Json::value_t::string:
    return json.get<std::string>();
  case Json::value_t::object:
    break;
  default:
    malformed(what);
  }
  if (json.size() != 1)
    malformed(what);
  const std::string &key = json.begin().key();
  const Json &inner = json.begin().value();
  if (inner.is_string()) {
    auto text = inner.get<std::string>();
    if (key == "dtype") {
      auto name = dtypeFromName(text);
      if (!name || *name != text)
        malformed(what);
      return Value::DType{text};
    }
    if (key == "float") {
      if (text == "nan")
        return std::numeric_limits<double>::quiet_NaN();
      if (text == "inf" || text == "-inf")
        return text[0] == '-' ? -std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::infinity();
    }
    if (key == "int")
      return intFromText(text, what);
    if (key == "function")
      return functionFromText(text, what);
  }
  if (inner.is_array() && key == "namedtuple")
    return namedTuple(inner, what, depth);
  if (inner.is_array() && (key == "tuple" || key == "list")) {
    std::vector<Value> items;
    for (const Json &item : inner)
      items.push_back(fromJson(item, what, depth + 1));
    if (key == "tuple")
      return Value::Tuple{std::move(items)};
    return Value::List{std::move(items)};
  }
  malformed(what);
}

Value valueFromJson(const Json &json, const std::string &what) {
  return fromJson(json, what, 0);
}

} // namespace tessera::language
