// autotune/table/TuneText.cpp - validates and formats the texts of tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneText.h"

#include "language/Lexer.h"
#include "language/Value.h"
#include "support/Json.h"
#include "support/Text.h"

#include <algorithm>

namespace tessera::tune {

bool isPlainText(std::string_view text) {
  // C1 control characters, U+0080 to U+009F, are C2 80 to C2 9F.
  for (size_t i = 0; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f ||
        (text[i] == '\xc2' && i + 1 < text.size() &&
         static_cast<unsigned char>(text[i + 1]) < 0xa0))
      return false;
  return text.size() <= longestText &&
         language::findInvalidUtf8(text) == std::string_view::npos;
}

bool isIdentifier(std::string_view text) {
  return !text.empty() && !isDigit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return isDigit(c) || c == '_' || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z');
         });
}

bool isParameterName(std::string_view text) {
  const size_t dot = text.find('.');
  if (!isIdentifier(text.substr(0, dot)))
    return false;
  for (size_t at = dot; at != std::string_view::npos;) {
    const size_t next = text.find('.', at + 1);
    const std::string_view field = text.substr(at + 1, next - at - 1);
    if (!isIdentifier(field) &&
        (field.empty() || !std::all_of(field.begin(), field.end(), isDigit)))
      return false;
    at = next;
  }
  return true;
}

bool isTextHash(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return isDigit(c) || (c >= 'a' && c <= 'f');
         });
}

bool isDate(std::string_view text) {
  if (text.size() != 10)
    return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : !isDigit(text[i]))
      return false;
  const int month = (text[5] - '0') * 10 + text[6] - '0',
            day = (text[8] - '0') * 10 + text[9] - '0';
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

std::string quotedText(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string valueText(const ConstexprValue &value) {
  return std::visit(
      [](const auto &held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>)
          return "null";
        else if constexpr (std::is_same_v<T, bool>)
          return held ? "true" : "false";
        else if constexpr (std::is_same_v<T, int64_t>)
          return std::to_string(held);
        else if constexpr (std::is_same_v<T, double>)
          return language::printFloat(held);
        else if constexpr (std::is_same_v<T, DType>)
          return "tl." + language::dtypeLongName(dtypeName(held));
        else if constexpr (std::is_same_v<T, EncodedConstexpr>)
          return "!value " + quotedText(held.json);
        else
          return quotedText(held);
      },
      value);
}

} // namespace tessera::tune
