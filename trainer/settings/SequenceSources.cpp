// trainer/settings/SequenceSources.cpp - parses and prints
// attention.per_sequence.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/SequenceSources.h"

#include "support/Error.h"
#include "trainer/settings/PatternParameters.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace tessera::trainer {
namespace {

using Kind = SequenceSource::Kind;

/// Limit of a value. Values, and sums of two values in kernels, are int32.
constexpr int64_t largest = 1 << 30;

std::optional<int64_t> boundedNumber(std::string_view text) {
  int64_t value = 0;
  const auto [stop, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  const bool complete =
      code == std::errc() && stop == text.data() + text.size();
  return complete && value >= 0 && value <= largest ? std::optional(value)
                                                    : std::nullopt;
}

/// Returns the N of "WORD(N)"; nullopt for another form.
std::optional<int64_t> argumentOf(std::string_view text,
                                  std::string_view word) {
  if (!text.starts_with(word) || !text.ends_with(')') ||
      !text.substr(word.size()).starts_with('('))
    return std::nullopt;
  text.remove_prefix(word.size() + 1);
  text.remove_suffix(1);
  return boundedNumber(text);
}

SequenceSource sourceOf(const std::string &name, const std::string &value) {
  if (value == "uniform")
    return {name, Kind::Uniform, 0};
  if (const auto number = boundedNumber(value))
    return {name, Kind::Number, *number};
  if (const auto token = argumentOf(value, "before"))
    return {name, Kind::Before, *token};
  if (const auto token = argumentOf(value, "through"))
    return {name, Kind::Through, *token};
  throw Error(
      fmt::format("attention.per_sequence sets `{}` to `{}`", name, value),
      "write a number from 0 to 2^30, before(TOKEN), through(TOKEN) or "
      "uniform");
}

} // namespace

std::vector<SequenceSource> readSequenceSources(const std::string &text) {
  std::vector<SequenceSource> sources;
  for (const auto &[name, value] :
       readParameters(text, "attention.per_sequence"))
    sources.push_back(sourceOf(name, value));
  return sources;
}

std::string sourcesText(const std::vector<SequenceSource> &sources) {
  std::string text;
  for (const SequenceSource &s : sources) {
    text += fmt::format("{}{}=", text.empty() ? "" : ", ", s.name);
    switch (s.kind) {
    case Kind::Number:
      text += fmt::format("{}", s.number);
      break;
    case Kind::Before:
      text += fmt::format("before({})", s.number);
      break;
    case Kind::Through:
      text += fmt::format("through({})", s.number);
      break;
    case Kind::Uniform:
      text += "uniform";
      break;
    }
  }
  return text;
}

} // namespace tessera::trainer
