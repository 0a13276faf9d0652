// language/FormatScan.cpp - finds the parts of an f-string.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/FormatScan.h"

#include <algorithm>
#include <string>

namespace tessera::language {

bool isStringPrefix(std::string_view letters) {
  return letters.size() <= 2 &&
         std::all_of(letters.begin(), letters.end(), [](char c) {
           return std::string_view("rbfut").find(char(c | 0x20)) !=
                  std::string_view::npos;
         });
}

namespace {

constexpr unsigned maxNesting = 20;

bool isNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

class Scanner {
public:
  Scanner(std::string_view text, size_t pos) : text(text), pos(pos) {}

  // Skips a string, from its opening quote. Returns false if it is not closed.
  bool string(std::string_view prefix) {
    if (++depth > maxNesting)
      return false;
    const auto has = [&](char letter) {
      return std::any_of(prefix.begin(), prefix.end(),
                         [&](char c) { return char(c | 0x20) == letter; });
    };
    std::string_view quote = text.substr(pos, 1);
    if (text.substr(pos, 3) == std::string(3, quote[0]))
      quote = text.substr(pos, 3);
    pos += quote.size();
    const bool closed = body(quote, has('f') || has('t'), has('r'));
    --depth;
    return closed;
  }

  // Reads a field, from `{` to after `}`. Returns false if it is not closed.
  bool field(FormatField &found) {
    if (++depth > maxNesting)
      return false;
    ++pos;
    const bool closed = expression(found) && (!found.format || format());
    --depth;
    if (!closed || pos >= text.size())
      return false;
    found.close = pos++;
    return true;
  }

  size_t position() const { return pos; }

private:
  bool at(std::string_view part) const {
    return text.substr(pos, part.size()) == part;
  }

  bool body(std::string_view quote, bool formatted, bool raw) {
    while (pos < text.size()) {
      if (at(quote)) {
        pos += quote.size();
        return true;
      }
      if (text[pos] == '\n' && quote.size() == 1)
        return false;
      if (text[pos] == '\\')
        escape(formatted, raw);
      else if (formatted && (at("{{") || at("}}")))
        pos += 2;
      else if (formatted && text[pos] == '{') {
        FormatField inner;
        if (!field(inner))
          return false;
      } else
        ++pos;
    }
    return false;
  }

  void escape(bool formatted, bool raw) {
    ++pos;
    if (formatted && !raw && at("N{")) {
      while (pos < text.size() && text[pos] != '}' && text[pos] != '\n')
        ++pos;
      return;
    }
    if (at("\r\n"))
      pos += 2;
    else if (!formatted || !(at("{") || at("}")))
      ++pos;
  }

  // Reads up to the `!`, `:` or `}` that ends the expression and its
  // conversion.
  bool expression(FormatField &found) {
    size_t open = 0, word = pos;
    for (; pos < text.size();) {
      const char c = text[pos];
      if (c == '"' || c == '\'') {
        const std::string_view letters = text.substr(word, pos - word);
        if (!string(isStringPrefix(letters) ? letters : std::string_view()))
          return false;
        word = pos;
        continue;
      }
      if (c == '#')
        while (pos + 1 < text.size() && text[pos + 1] != '\n')
          ++pos;
      if (c == '(' || c == '[' || c == '{')
        ++open;
      else if (!open && (c == '}' || c == ':' ||
                         (c == '!' && text.substr(pos, 2) != "!="))) {
        if (!found.conversion)
          found.expressionEnd = pos;
        if (c == '}')
          return true;
        if (c == ':') {
          found.format = pos++;
          return true;
        }
        if (!found.conversion)
          found.conversion = pos;
      } else if (open && (c == ')' || c == ']' || c == '}'))
        --open;
      ++pos;
      if (!isNamePart(c))
        word = pos;
    }
    return false;
  }

  // Reads the format, after `:`, up to the `}` of the field.
  bool format() {
    while (pos < text.size() && text[pos] != '}') {
      FormatField inner;
      if (text[pos] != '{')
        ++pos;
      else if (!field(inner))
        return false;
    }
    return pos < text.size();
  }

  std::string_view text;
  size_t pos;
  unsigned depth = 0;
};

} // namespace

size_t formattedLength(std::string_view text, size_t prefix) {
  Scanner scanner(text, prefix);
  return scanner.string(text.substr(0, prefix)) ? scanner.position() : 0;
}

FormatField scanField(std::string_view text, size_t open) {
  FormatField found;
  Scanner scanner(text, open);
  if (!scanner.field(found))
    found.close = 0;
  return found;
}

} // namespace tessera::language
