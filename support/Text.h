// support/Text.h - splits text into lines and parses numbers; readers of
// reports, assembly and options use it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

// Returns the lines of `text` without their newlines.
inline std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

inline std::string firstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// Returns the number that `text` consists of, or nullopt for other text or a
// number that does not fit T.
template <typename T>
std::optional<T> numberFromText(std::string_view text) {
  T value{};
  const char *const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || after != end)
    return std::nullopt;
  return value;
}

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }

// Returns a name in capitals, the spelling of tensors in kernels: "W" for "w".
inline std::string inCapitals(std::string name) {
  for (char &c : name)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Splits a list of names such as "GATE, BIAS".
inline std::vector<std::string> namesOfList(std::string_view list) {
  std::vector<std::string> names(1);
  for (const char c : list)
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  std::erase(names, "");
  return names;
}

// Returns `text` without the characters of `blank` at both ends.
inline std::string_view trimSpaces(std::string_view text,
                                   std::string_view blank = " \t\r") {
  const size_t begin = text.find_first_not_of(blank);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

// Returns the name and the value of "NAME=value", or nullopt without `=`.
inline std::optional<std::pair<std::string, std::string>>
nameAndValueOf(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos)
    return std::nullopt;
  return std::pair(std::string(text.substr(0, equals)),
                   std::string(text.substr(equals + 1)));
}

// Returns the part after the last slash: "k.py" of "/home/me/kernels/k.py".
inline std::string_view lastPart(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

} // namespace tessera
