// support/Quantities.cpp - sizes and time spans as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Quantities.h"

#include "support/Error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>

namespace tessera {

namespace {
struct Unit {
  char letter;
  double factor;
};
} // namespace

// Parses a number, optionally followed by one of the unit letters; returns
// number times unit, or nullopt. Results are below 2^62, so that sums of a few
// do not overflow.
template <size_t N>
static std::optional<double> parse(std::string_view text,
                                   const std::array<Unit, N> &units,
                                   bool unitNeeded) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                      number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0)
    return std::nullopt;
  const std::string_view rest = text.substr(size_t(end - text.data()));
  if (rest.empty() && unitNeeded)
    return std::nullopt;
  if (!rest.empty()) {
    auto unit = std::find_if(units.begin(), units.end(), [&](const Unit &u) {
      return rest.size() == 1 && (rest[0] | 0x20) == u.letter;
    });
    if (unit == units.end())
      return std::nullopt;
    number *= unit->factor;
  }
  return number < 0x1p62 ? std::optional(number) : std::nullopt;
}

uint64_t parseBytes(std::string_view text, const std::string &what) {
  static constexpr std::array<Unit, 5> units = {
      {{'b', 1}, {'k', 0x1p10}, {'m', 0x1p20}, {'g', 0x1p30}, {'t', 0x1p40}}};
  const auto bytes = parse(text, units, false);
  if (!bytes)
    throw Error(what + "=" + std::string(text) + " is not a size",
                "write bytes with an optional unit, such as 500M or 4G");
  return uint64_t(*bytes);
}

std::chrono::seconds parseTimeSpan(std::string_view text,
                                   const std::string &what) {
  static constexpr std::array<Unit, 5> units = {
      {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}}};
  const auto seconds = parse(text, units, true);
  if (!seconds)
    throw Error(what + "=" + std::string(text) + " is not a time span",
                "write a number and one of s, m, h, d, w, such as 30d");
  return std::chrono::seconds(int64_t(*seconds));
}

std::string bytesText(uint64_t bytes) {
  static constexpr const char *names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(names)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value,
                names[unit]);
  return text;
}

std::string timeSpanText(std::chrono::seconds span) {
  struct Named {
    int64_t seconds;
    const char *name;
  };
  static constexpr Named units[] = {
      {86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
  for (const Named &unit : units)
    if (span.count() >= unit.seconds) {
      const int64_t count = span.count() / unit.seconds;
      return std::to_string(count) + " " + unit.name + (count > 1 ? "s" : "");
    }
  return "0 seconds";
}

} // namespace tessera
