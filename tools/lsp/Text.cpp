// tools/lsp/Text.cpp - converts positions and file names to and from the
// Language Server Protocol.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Text.h"

#include <algorithm>
#include <cctype>

namespace tessera::tools::lsp {

// Returns the number of bytes of the character that begins here, and of its
// UTF-16 units.
static std::pair<size_t, uint32_t> nextCharacter(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? uint8_t(text[i]) : 0;
  };
  const uint8_t first = byte(0);
  const size_t length = first >= 0xf0 && first < 0xf8   ? 4
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xc2 && first < 0xe0 ? 2
                                                        : 1;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return {1, 1};
  return {length, length == 4 ? 2 : 1};
}

uint32_t characterOf(std::string_view line, uint32_t column) {
  const size_t end = std::min<size_t>(column ? column - 1 : 0, line.size());
  uint32_t characters = 0;
  for (size_t at = 0; at < end;) {
    const auto [bytes, units] = nextCharacter(line.substr(at));
    if (at + bytes > end)
      break; // within a character: use its start
    at += bytes;
    characters += units;
  }
  return characters;
}

uint32_t columnOf(std::string_view line, uint32_t character) {
  size_t at = 0;
  for (uint32_t seen = 0; at < line.size();) {
    const auto [bytes, units] = nextCharacter(line.substr(at));
    if (seen + units > character)
      break;
    seen += units;
    at += bytes;
  }
  return uint32_t(at) + 1;
}

Position positionOf(const SourceFile &file, uint32_t line, uint32_t column) {
  if (line == 0)
    return {};
  return {line - 1, characterOf(file.line(line), column)};
}

Json rangeJson(const SourceFile &file, const SourceRange &range) {
  SourceRange whole = range;
  if (whole.line == 0)
    whole = {1, 1, 1, 1};
  if (whole.endLine == 0) {
    const std::string_view line = file.line(whole.line);
    size_t end = whole.column ? whole.column - 1 : 0;
    while (end < line.size() &&
           (std::isalnum(uint8_t(line[end])) || line[end] == '_'))
      ++end;
    whole.endLine = whole.line;
    whole.endColumn = uint32_t(end) + 1;
    if (whole.endColumn <= whole.column)
      whole.endColumn = uint32_t(line.size()) + 1;
  }
  // The range of a diagnostic may have its end before its begin.
  if (std::pair(whole.endLine, whole.endColumn) <
      std::pair(whole.line, whole.column))
    whole.endLine = whole.line, whole.endColumn = whole.column;
  const auto at = [&](uint32_t line, uint32_t column) {
    const Position position = positionOf(file, line, column);
    return Json{{"line", position.line}, {"character", position.character}};
  };
  return {{"start", at(whole.line, whole.column)},
          {"end", at(whole.endLine, whole.endColumn)}};
}

Position readPosition(const Json &json) {
  const auto number = [&](const char *key) {
    const Json value = member<Json>(json, key, "a position");
    if (!value.is_number_unsigned() || value.get<uint64_t>() > 0x7ffffffe)
      throw Error(std::string("a position: `") + key +
                      "` is not a number from 0",
                  "lines and characters count from 0");
    return value.get<uint32_t>();
  };
  return {number("line"), number("character")};
}

std::string pathOfUri(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme))
    return "";
  uri.remove_prefix(scheme.size());
  if (uri.empty() || uri[0] != '/') // file://HOST/PATH
    uri.remove_prefix(std::min(uri.find('/'), uri.size()));
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    const bool escaped = uri[i] == '%' && i + 2 < uri.size() &&
                         digit(uri[i + 1]) >= 0 && digit(uri[i + 2]) >= 0;
    path += escaped ? char(digit(uri[i + 1]) * 16 + digit(uri[i + 2])) : uri[i];
    i += escaped ? 2 : 0;
  }
  return path;
}

std::string uriOfPath(std::string_view path) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string uri = "file://";
  for (char c : path)
    if (std::isalnum(uint8_t(c)) ||
        std::string_view("/-._~").find(c) != std::string_view::npos)
      uri += c;
    else
      (uri += '%', uri += digits[uint8_t(c) >> 4],
       uri += digits[uint8_t(c) & 15]);
  return uri;
}

} // namespace tessera::tools::lsp
