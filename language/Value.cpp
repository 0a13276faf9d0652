// language/Value.cpp - equality, truth and text of compile-time values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Value.h"

#include "language/Tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace tessera::language {

std::string printInt(Int value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  // Only the unsigned type can hold the magnitude of the lowest value.
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(value)
                                    : static_cast<unsigned __int128>(value);
  std::string digits;
  for (; rest; rest /= 10)
    digits += char('0' + int(rest % 10));
  if (negative)
    digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string printFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  // Python prints exponents only outside of 1e-4 .. 1e16.
  double size = std::fabs(value);
  auto format = size != 0 && (size < 1e-4 || size >= 1e16)
                    ? std::chars_format::scientific
                    : std::chars_format::fixed;
  std::array<char, 64> buffer;
  auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format)
          .ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

bool Value::Config::operator==(const Config &other) const {
  if (numWarps != other.numWarps || numStages != other.numStages ||
      constexprs.size() != other.constexprs.size())
    return false;
  for (size_t i = 0; i < constexprs.size(); ++i)
    if (constexprs[i].first != other.constexprs[i].first ||
        !constexprs[i].second.identical(other.constexprs[i].second))
      return false;
  return true;
}

const Value *Value::Tuple::find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return &items[i];
  return nullptr;
}

std::optional<Int> Value::asInt() const {
  if (const bool *value = get<bool>())
    return Int(*value);
  if (const Int *value = get<Int>())
    return *value;
  return std::nullopt;
}

std::optional<double> Value::asFloat() const {
  if (const double *value = get<double>())
    return *value;
  if (auto value = asInt())
    return double(*value);
  return std::nullopt;
}

const std::vector<Value> *Value::sequence() const {
  if (const List *list = get<List>())
    return &list->items;
  if (const Tuple *tuple = get<Tuple>())
    return &tuple->items;
  return nullptr;
}

bool Value::truth() const {
  if (isNone())
    return false;
  if (auto value = asFloat())
    return *value != 0.0;
  if (const std::string *text = get<std::string>())
    return !text->empty();
  if (const std::vector<Value> *items = sequence())
    return !items->empty();
  if (const Dict *dict = get<Dict>())
    return !dict->items.empty();
  return true;
}

template <typename Same>
static bool sameItems(const std::vector<Value> &a, const std::vector<Value> &b,
                      Same same) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), same);
}

bool Value::equals(const Value &other) const {
  if (auto a = asInt(), b = other.asInt(); a && b)
    return *a == *b;
  if (auto a = asFloat(), b = other.asFloat(); a && b)
    return *a == *b;
  if (data.index() != other.data.index())
    return false;
  if (const std::vector<Value> *items = sequence())
    return sameItems(
        *items, *other.sequence(),
        [](const Value &a, const Value &b) { return a.equals(b); });
  if (const Dict *dict = get<Dict>()) {
    const Dict &right = *other.get<Dict>();
    if (dict->items.size() != right.items.size())
      return false;
    for (const auto &[key, value] : dict->items) {
      auto found = std::find_if(
          right.items.begin(), right.items.end(),
          [&](const auto &item) { return item.first.equals(key); });
      if (found == right.items.end() || !found->second.equals(value))
        return false;
    }
    return true;
  }
  return identical(other);
}

bool Value::identical(const Value &other) const {
  if (data.index() != other.data.index())
    return false;
  if (const double *value = get<double>()) {
    // -0.0 and 0.0 give different code. A NaN equals itself.
    double right = *other.get<double>();
    return (std::isnan(*value) && std::isnan(right)) ||
           (*value == right && std::signbit(*value) == std::signbit(right));
  }
  if (const Tuple *tuple = get<Tuple>();
      tuple && tuple->names != other.get<Tuple>()->names)
    return false;
  if (const std::vector<Value> *items = sequence())
    return sameItems(
        *items, *other.sequence(),
        [](const Value &a, const Value &b) { return a.identical(b); });
  if (const Dict *dict = get<Dict>()) {
    const Dict &right = *other.get<Dict>();
    if (dict->items.size() != right.items.size())
      return false;
    for (size_t i = 0; i < dict->items.size(); ++i)
      if (!dict->items[i].first.identical(right.items[i].first) ||
          !dict->items[i].second.identical(right.items[i].second))
        return false;
    return true;
  }
  if (const Function *function = get<Function>())
    return function->lambda == other.get<Function>()->lambda &&
           function->def == other.get<Function>()->def;
  if (const DType *dtype = get<DType>())
    return *dtype == *other.get<DType>();
  if (const Config *config = get<Config>())
    return *config == *other.get<Config>();
  if (const Named *named = get<Named>())
    return *named == *other.get<Named>();
  if (const KernelFunction *function = get<KernelFunction>())
    return *function == *other.get<KernelFunction>();
  if (const std::string *text = get<std::string>())
    return *text == *other.get<std::string>();
  if (auto value = asInt())
    return *value == *other.asInt();
  return true; // None
}

static std::string reprString(const std::string &text) {
  bool single = text.find('\'') != std::string::npos &&
                text.find('"') == std::string::npos;
  char quote = single ? '"' : '\'';
  std::string result(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\')
      result += '\\', result += c;
    else if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (c == '\r')
      result += "\\r";
    else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      static const char *const digits = "0123456789abcdef";
      result += "\\x";
      result += digits[c >> 4 & 15];
      result += digits[c & 15];
    } else {
      result += c;
    }
  }
  return result + quote;
}

static std::string reprItems(const std::vector<Value> &items) {
  std::string text;
  for (const Value &item : items)
    text += (text.empty() ? "" : ", ") + item.repr();
  return text;
}

static std::string reprConfig(const Value::Config &config) {
  std::string text = "triton.Config({";
  for (size_t i = 0; i < config.constexprs.size(); ++i)
    text += (i ? ", " : "") + reprString(config.constexprs[i].first) + ": " +
            config.constexprs[i].second.repr();
  text += "}";
  if (config.numWarps)
    text += ", num_warps=" + std::to_string(*config.numWarps);
  if (config.numStages)
    text += ", num_stages=" + std::to_string(*config.numStages);
  return text + ")";
}

std::string Value::repr() const {
  if (isNone())
    return "None";
  if (const bool *value = get<bool>())
    return *value ? "True" : "False";
  if (const Int *value = get<Int>())
    return printInt(*value);
  if (const double *value = get<double>())
    return printFloat(*value);
  if (const std::string *text = get<std::string>())
    return reprString(*text);
  if (const DType *dtype = get<DType>())
    return "tl." + dtypeLongName(dtype->name);
  if (const List *list = get<List>())
    return "[" + reprItems(list->items) + "]";
  if (const Tuple *tuple = get<Tuple>())
    return "(" + reprItems(tuple->items) +
           (tuple->items.size() == 1 ? ",)" : ")");
  if (const Dict *dict = get<Dict>()) {
    std::string text;
    for (const auto &[key, value] : dict->items)
      text += (text.empty() ? "" : ", ") + key.repr() + ": " + value.repr();
    return "{" + text + "}";
  }
  if (const Config *config = get<Config>())
    return reprConfig(*config);
  if (const Named *named = get<Named>())
    return named->path;
  if (const KernelFunction *function = get<KernelFunction>())
    return function->name;
  if (const Function *function = get<Function>(); function->def)
    return function->def->name;
  return "<lambda>";
}

std::string Value::kindName() const {
  static const char *const names[] = {
      "NoneType", "bool", "int",    "float",  "str",  "dtype",   "list",
      "tuple",    "dict", "lambda", "Config", "name", "function"};
  static_assert(std::size(names) == std::variant_size_v<Data>);
  return names[data.index()];
}

namespace {
struct DTypeNames {
  const char *shortName, *longName;
};
} // namespace

static constexpr DTypeNames dtypeNames[] = {{"fp64", "float64"},
                                            {"fp32", "float32"},
                                            {"fp16", "float16"},
                                            {"bf16", "bfloat16"},
                                            {"fp8e4nv", "float8e4nv"},
                                            {"fp8e5", "float8e5"},
                                            {"i1", "int1"},
                                            {"i8", "int8"},
                                            {"i16", "int16"},
                                            {"i32", "int32"},
                                            {"i64", "int64"},
                                            {"u8", "uint8"},
                                            {"u16", "uint16"},
                                            {"u32", "uint32"},
                                            {"u64", "uint64"},
                                            {"void", "void"}};

std::optional<std::string> dtypeFromName(std::string_view name) {
  for (const DTypeNames &dtype : dtypeNames)
    if (name == dtype.shortName || name == dtype.longName)
      return dtype.shortName;
  return std::nullopt;
}

std::string dtypeLongName(std::string_view shortName) {
  for (const DTypeNames &dtype : dtypeNames)
    if (shortName == dtype.shortName)
      return dtype.longName;
  return std::string(shortName);
}

} // namespace tessera::language
