// trainer/settings/PatternParameters.cpp - parses parameters by the types of
// their defaults.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/PatternParameters.h"

#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace tessera::trainer {
namespace {

using language::Int;
using language::Value;

constexpr const char *form =
    "write NAME=number, separated by commas: window=16, cap=30.0";

std::string trimmed(const std::string &text) {
  return std::string(trimSpaces(text, " \t"));
}

template <typename T>
std::optional<T> numberOf(const std::string &text) {
  const auto value = numberFromText<T>(text);
  return value && std::isfinite(double(*value)) ? value : std::nullopt;
}

std::optional<bool> flagOf(const std::string &text) {
  if (text == "True" || text == "true")
    return true;
  if (text == "False" || text == "false")
    return false;
  return std::nullopt;
}

/// Converts a text to the type of the default; nullopt if that fails.
std::optional<Value> valueLike(const Value &wanted, const std::string &text) {
  if (wanted.is<bool>()) {
    const auto flag = flagOf(text);
    return flag ? std::optional<Value>(Value(*flag)) : std::nullopt;
  }
  if (wanted.is<Int>()) {
    const auto number = numberOf<int64_t>(text);
    return number ? std::optional<Value>(Value(Int(*number))) : std::nullopt;
  }
  if (wanted.is<double>()) {
    const auto number = numberOf<double>(text);
    return number ? std::optional<Value>(Value(*number)) : std::nullopt;
  }
  return Value(text);
}

/// Returns the canonical spelling of a value.
std::string spelling(const std::string &text) {
  if (const auto flag = flagOf(text))
    return *flag ? "True" : "False";
  if (const auto number = numberOf<double>(text))
    return fmt::format("{}", *number);
  return text;
}

} // namespace

std::vector<std::string> splitList(const std::string &text, char separator) {
  std::vector<std::string> items;
  size_t at = 0;
  for (size_t end; (end = text.find(separator, at)) != std::string::npos;
       at = end + 1)
    items.push_back(trimmed(text.substr(at, end - at)));
  items.push_back(trimmed(text.substr(at)));
  return items;
}

ParameterTexts readParameters(const std::string &text, const char *setting) {
  ParameterTexts all;
  for (const std::string &item : splitList(text, ',')) {
    if (item.empty())
      continue;
    const size_t sign = item.find_first_of("=:");
    if (sign == std::string::npos || sign == 0 || sign + 1 == item.size())
      throw Error(fmt::format("{} has `{}`", setting, item), form);
    const std::string name = trimmed(item.substr(0, sign));
    for (const auto &[other, value] : all)
      if (other == name)
        throw Error(fmt::format("{} sets `{}` twice", setting, name),
                    "leave one of the two away");
    const std::string value = trimmed(item.substr(sign + 1));
    if (value.starts_with('\'') || value.starts_with('"'))
      throw Error(fmt::format("{} sets `{}` to `{}`", setting, name, value),
                  "write the value without quotation marks");
    all.emplace_back(name, value);
  }
  return all;
}

std::string completeParameters(const runtime::PatternFile &pattern,
                               const ParameterTexts &given) {
  std::string text;
  for (const auto &parameter : pattern.parameters) {
    Value value = parameter.defaultValue;
    for (const auto &[name, written] : given) {
      if (name != parameter.name)
        continue;
      const auto read = valueLike(parameter.defaultValue, written);
      if (!read)
        throw Error(
            fmt::format("attention_params sets `{}` of {} to `{}`, but its "
                        "default is {}",
                        name, pattern.path, written,
                        parameter.defaultValue.repr()),
            std::string("give a value of the type of the default; ") + form);
      value = *read;
    }
    const std::string *word = value.get<std::string>();
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", parameter.name,
                        word ? *word : value.repr());
  }
  return text;
}

bool sameParameters(const std::string &one, const std::string &other) {
  const auto spelled = [](const std::string &text) {
    std::map<std::string, std::string> values;
    for (const auto &[name, value] : readParameters(text))
      values[name] = spelling(value);
    return values;
  };
  return spelled(one) == spelled(other);
}

} // namespace tessera::trainer
