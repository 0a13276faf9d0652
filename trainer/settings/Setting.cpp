// trainer/settings/Setting.cpp - converts values of settings from text and to
// text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Setting.h"

#include "support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace tessera::trainer {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};

std::string number(double value) { return fmt::format("{}", value); }
std::string number(int64_t value) { return std::to_string(value); }

[[noreturn]] void badValue(const Setting &s, const std::string &text) {
  throw Error(fmt::format("{} wants {}, found '{}'", s.key, typeText(s), text),
              fmt::format("{}: {}", s.key, s.doc));
}

template <typename T>
T parse(const Setting &s, const std::string &text) {
  T value{};
  const char *end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || !std::isfinite(double(value)))
    badValue(s, text);
  if (!(double(value) >= s.low && double(value) <= s.high))
    throw Error(fmt::format("{} must be between {} and {}, found {}", s.key,
                            s.low, s.high, number(value)),
                fmt::format("set {} inside that range", s.key));
  return value;
}

/// Accepts the booleans of YAML 1.1, which nsa-vibe's files may use.
std::optional<bool> boolOf(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  });
  for (const char *word : {"true", "yes", "on", "1"})
    if (text == word)
      return true;
  for (const char *word : {"false", "no", "off", "0"})
    if (text == word)
      return false;
  return std::nullopt;
}

bool parseBool(const Setting &s, const std::string &text) {
  const std::optional<bool> value = boolOf(text);
  if (!value)
    badValue(s, text);
  return *value;
}

/// Returns the items of "[10, 12]", with or without brackets.
std::vector<std::string> itemsOf(const Setting &s, std::string text) {
  std::erase(text, ' ');
  if (text.starts_with('[') != text.ends_with(']'))
    badValue(s, text);
  if (text.starts_with('['))
    text = text.substr(1, text.size() - 2);
  std::vector<std::string> items;
  for (size_t from = 0; !text.empty() && from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    items.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return items;
}

/// Reads "[10, 12]", with or without brackets. Returns an empty range for an
/// empty text.
StepRange parseSteps(const Setting &s, std::string text) {
  std::erase(text, ' ');
  if (text.empty() || text == "[]")
    return {};
  if (text.size() > 1 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  const size_t comma = text.find(',');
  if (comma == std::string::npos)
    badValue(s, text);
  const StepRange range = {parse<int64_t>(s, text.substr(0, comma)),
                           parse<int64_t>(s, text.substr(comma + 1))};
  if (range.last < range.first)
    throw Error(fmt::format("{}: step {} comes before step {}", s.key,
                            range.last, range.first),
                "write the earlier step first, for example [10, 12]");
  return range;
}

/// Reads "[1:8, 600:4]": values from steps on.
StepValues parseStepValues(const Setting &s, const std::string &text) {
  StepValues values;
  for (const std::string &item : itemsOf(s, text)) {
    const size_t colon = item.find(':');
    if (colon == std::string::npos)
      badValue(s, text);
    Setting step = s;
    step.low = 1;
    step.high = 1e9;
    values.push_back({parse<int64_t>(step, item.substr(0, colon)),
                      parse<int64_t>(s, item.substr(colon + 1))});
  }
  return values;
}

std::string stepValuesText(const StepValues &values) {
  std::string text;
  for (const StepValue &v : values)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", v.step, v.value);
  return text.empty() ? "" : "[" + text + "]";
}

/// Reads "2", a number of layers, or "[0, 2]", a list.
models::LayerSet parseLayers(const Setting &s, const std::string &text) {
  models::LayerSet set;
  if (!text.starts_with('[')) {
    set.count = parse<int64_t>(s, text);
    return set;
  }
  for (const std::string &layer : itemsOf(s, text))
    set.listed.push_back(parse<int64_t>(s, layer));
  return set;
}

/// Returns true if a key without an effect accepts the text.
bool takes(const Setting &s, const std::string &text) {
  for (const std::string &accepted : s.accepted)
    if (text == accepted ||
        (boolOf(accepted) && boolOf(text) == boolOf(accepted)))
      return true;
  return false;
}

void choose(const Setting &s, const ChoiceField &field,
            const std::string &text) {
  for (const Choice &choice : *field.choices) {
    const bool same =
        choice.name == text ||
        (boolOf(choice.name) && boolOf(choice.name) == boolOf(text));
    if (!same)
      continue;
    if (!choice.missing.empty())
      throw Error(fmt::format("{}={}: {}", s.key, text, choice.missing),
                  fmt::format("what there is: {}", typeText(s)));
    field.set(choice.value);
    return;
  }
  badValue(s, text);
}

std::string rangeText(const Setting &s) {
  return fmt::format("{} to {}", number(s.low), number(s.high));
}

Field fieldOf(const Setting &s, Config &config) {
  return s.field ? s.field(config) : Field();
}

} // namespace

const Setting *findSetting(const std::string &name) {
  for (const Setting &s : settingsTable())
    if (s.key == name ||
        std::find(s.aliases.begin(), s.aliases.end(), name) != s.aliases.end())
      return &s;
  return nullptr;
}

const Setting *findTwin(const std::string &variable) {
  for (const Setting &s : settingsTable())
    if (!s.variable.empty() && s.variable == variable)
      return &s;
  return nullptr;
}

void setValue(const Setting &s, Config &config, const std::string &text) {
  const auto refuse = [&](std::monostate) {
    if (!takes(s, text))
      throw Error(fmt::format("{}={}: {}", s.key, text, s.doc),
                  fmt::format("delete the line, or write {}={}", s.key,
                              s.accepted.front()));
  };
  std::visit(
      Overload{refuse, [&](std::string *v) { *v = text; },
               [&](bool *v) { *v = parseBool(s, text); },
               [&](int64_t *v) { *v = parse<int64_t>(s, text); },
               [&](double *v) { *v = parse<double>(s, text); },
               [&](StepRange *v) { *v = parseSteps(s, text); },
               [&](StepValues *v) { *v = parseStepValues(s, text); },
               [&](models::LayerSet *v) { *v = parseLayers(s, text); },
               [&](const ChoiceField &field) { choose(s, field, text); }},
      fieldOf(s, config));
}

std::string valueText(const Setting &s, const Config &config) {
  const auto word = [](const ChoiceField &field) {
    const int value = field.get();
    for (const Choice &choice : *field.choices)
      if (choice.missing.empty() && choice.value == value)
        return choice.name;
    return std::string();
  };
  // The const_cast below is safe, because these functions only read.
  return std::visit(
      Overload{[](std::monostate) { return std::string(); },
               [](const std::string *v) { return *v; },
               [](const bool *v) { return std::string(*v ? "true" : "false"); },
               [](const int64_t *v) { return number(*v); },
               [](const double *v) { return number(*v); },
               [](const StepRange *v) {
                 return v->first == 0
                            ? std::string()
                            : fmt::format("[{}, {}]", v->first, v->last);
               },
               [](const StepValues *v) { return stepValuesText(*v); },
               [](const models::LayerSet *v) {
                 return v->listed.empty()
                            ? number(v->count)
                            : fmt::format("[{}]", fmt::join(v->listed, ", "));
               },
               word},
      fieldOf(s, const_cast<Config &>(config)));
}

std::string typeText(const Setting &s) {
  const auto words = [](const ChoiceField &field) {
    std::string text;
    for (const Choice &choice : *field.choices)
      if (choice.missing.empty())
        text += (text.empty() ? "" : " or ") + choice.name;
    return text;
  };
  Config any;
  return std::visit(
      Overload{
          [&](std::monostate) { return s.accepted.front(); },
          [](const std::string *) { return std::string("text"); },
          [](const bool *) { return std::string("true or false"); },
          [&](const int64_t *) { return "a whole number, " + rangeText(s); },
          [&](const double *) { return "a number, " + rangeText(s); },
          [&](const StepRange *) {
            return "[first, last] step, each " + rangeText(s);
          },
          [&](const StepValues *) {
            return "a list of STEP:VALUE, each value " + rangeText(s);
          },
          [&](const models::LayerSet *) {
            return std::string("a number of layers, or a list such as [0, 2]");
          },
          words},
      fieldOf(s, any));
}

} // namespace tessera::trainer
