// language/Literals.cpp - parses numbers and strings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Lexer.h"
#include "support/Text.h"

#include <charconv>
#include <limits>

namespace tessera::language {

namespace {

int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

bool isNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         isDigit(c) || static_cast<unsigned char>(c) >= 0x80;
}

class NumberReader {
public:
  explicit NumberReader(std::string_view text) : text(text) {}

  LiteralResult read() {
    if (peek() == '0' && pos + 1 < text.size()) {
      int base = baseOf(text[1]);
      if (base) {
        pos = 2;
        integer(base);
        return finish();
      }
    }
    decimal();
    return finish();
  }

private:
  char peek(size_t ahead = 0) const {
    return pos + ahead < text.size() ? text[pos + ahead] : '\0';
  }

  static int baseOf(char c) {
    switch (c) {
    case 'x':
    case 'X':
      return 16;
    case 'b':
    case 'B':
      return 2;
    case 'o':
    case 'O':
      return 8;
    default:
      return 0;
    }
  }

  void fail(std::string message, std::string hint, bool foreign = false) {
    if (!result.error.empty() && (foreign || !result.foreign))
      return;
    result.foreign = foreign;
    result.id = DiagnosticId::InvalidNumber;
    result.error = std::move(message);
    result.hint = std::move(hint);
    result.errorOffset = pos;
  }

  // Reads digits of the base; a single _ is allowed between two of them.
  void digits(int base, bool leadingUnderscore) {
    bool lastDigit = leadingUnderscore;
    size_t count = 0;
    for (;; ++pos) {
      char c = peek();
      if (digitValue(c) < base) {
        plain += c;
        ++count;
        lastDigit = true;
      } else if (c == '_' && lastDigit && digitValue(peek(1)) < base) {
        lastDigit = false;
      } else {
        break;
      }
    }
    if (!count)
      fail("a number without digits", "write digits after its prefix");
  }

  void integer(int base) {
    digits(base, true);
    unsigned __int128 value = 0;
    const auto limit = ~static_cast<unsigned __int128>(0) >> 1;
    for (char c : plain) {
      unsigned digit = unsigned(digitValue(c));
      if (value > (limit - digit) / unsigned(base)) {
        fail("the number needs more than 127 bits",
             "kernels compute with at most 64 bits", true);
        return;
      }
      value = value * unsigned(base) + digit;
    }
    result.value = Value(Int(value));
  }

  void decimal() {
    bool isFloat = false;
    if (peek() != '.')
      digits(10, false);
    size_t integerDigits = plain.size();
    if (peek() == '.') {
      isFloat = true;
      plain += '.';
      ++pos;
      if (isDigit(peek()))
        digits(10, false);
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (isDigit(peek(1)) ||
         ((peek(1) == '+' || peek(1) == '-') && isDigit(peek(2))))) {
      isFloat = true;
      plain += 'e';
      ++pos;
      if (peek() == '-')
        plain += '-';
      if (!isDigit(peek()))
        ++pos;
      digits(10, false);
    }
    if (isFloat)
      return floating();
    if (integerDigits > 1 && plain[0] == '0' &&
        plain.find_first_not_of('0') != std::string::npos) {
      fail("a decimal number that starts with 0",
           "drop the zeros, or write 0o for an octal number");
      return;
    }
    std::string kept = std::move(plain);
    plain.clear();
    unsigned __int128 value = 0;
    const auto limit = ~static_cast<unsigned __int128>(0) >> 1;
    for (char c : kept) {
      unsigned digit = unsigned(c - '0');
      if (value > (limit - digit) / 10) {
        fail("the number needs more than 127 bits",
             "kernels compute with at most 64 bits", true);
        return;
      }
      value = value * 10 + digit;
    }
    result.value = Value(Int(value));
  }

  void floating() {
    double value = 0;
    std::string number = plain[0] == '.' ? "0" + plain : plain;
    auto status =
        std::from_chars(number.data(), number.data() + number.size(), value);
    // As Python does, rounds a value out of range to 0 or infinity.
    if (status.ec == std::errc::result_out_of_range) {
      bool tiny = number.find("e-") != std::string::npos ||
                  number.find_first_of("123456789") > number.find('.');
      value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    }
    result.value = Value(value);
  }

  // True if a keyword follows directly: Python reads `1if x else 0` as `1 if x
  // else 0`.
  bool wordFollows() const {
    for (std::string_view word :
         {"and", "else", "for", "if", "in", "is", "not", "or"})
      if (text.substr(pos, word.size()) == word &&
          !isNameChar(peek(word.size())))
        return true;
    return false;
  }

  LiteralResult finish() {
    if ((result.error.empty() || result.foreign) &&
        (peek() == 'j' || peek() == 'J') && !isNameChar(peek(1))) {
      fail("complex numbers are not supported", "use two floats", true);
      result.id = DiagnosticId::UnsupportedSyntax;
      ++pos;
    }
    if (isNameChar(peek()) && wordFollows()) {
      result.length = pos;
      return std::move(result);
    }
    if (isNameChar(peek()))
      fail("invalid number",
           "put a space between a number and the word after it");
    while (isNameChar(peek()))
      ++pos;
    result.length = pos;
    return std::move(result);
  }

  std::string_view text;
  size_t pos = 0;
  std::string plain; // the digits without _
  LiteralResult result;
};

void appendUtf8(std::string &out, uint32_t code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xc0 | code >> 6);
    out += char(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += char(0xe0 | code >> 12);
    out += char(0x80 | (code >> 6 & 63));
    out += char(0x80 | (code & 63));
  } else {
    out += char(0xf0 | code >> 18);
    out += char(0x80 | (code >> 12 & 63));
    out += char(0x80 | (code >> 6 & 63));
    out += char(0x80 | (code & 63));
  }
}

class StringReader {
public:
  StringReader(std::string_view text, size_t prefix) : text(text), pos(prefix) {
    for (size_t i = 0; i < prefix; ++i)
      flags += char(text[i] | 0x20);
  }

  LiteralResult read() {
    char quote = text[pos];
    bool triple = text.substr(pos, 3) == std::string(3, quote);
    std::string_view open = text.substr(pos, triple ? 3 : 1);
    checkPrefix();
    raw = flags.find('r') != std::string::npos;
    pos += open.size();
    while (true) {
      if (pos >= text.size() || (!triple && text[pos] == '\n')) {
        fail(DiagnosticId::InvalidString, 0, "a string that is never closed",
             triple ? "close it with three quotes"
                    : "close it on the same line, or use three quotes");
        break;
      }
      if (text.substr(pos, open.size()) == open) {
        pos += open.size();
        break;
      }
      if (text[pos] == '\\')
        escape();
      else if (text[pos] == '\r' && text.substr(pos, 2) == "\r\n")
        ++pos; // Python sees \n
      else
        out += text[pos++];
    }
    result.length = pos;
    result.value = Value(std::move(out));
    return std::move(result);
  }

private:
  void fail(DiagnosticId id, size_t offset, std::string message,
            std::string hint, bool foreign = false) {
    if (!result.error.empty() && (foreign || !result.foreign))
      return;
    result.foreign = foreign;
    result.id = id;
    result.error = std::move(message);
    result.hint = std::move(hint);
    result.errorOffset = offset;
  }

  void checkPrefix() {
    result.formatted = flags.find('f') != std::string::npos;
    if (flags.find('t') != std::string::npos)
      fail(DiagnosticId::UnsupportedSyntax, 0,
           "template strings are not supported",
           "write a plain string or an f-string", true);
    else if (flags.find('b') != std::string::npos)
      fail(DiagnosticId::UnsupportedSyntax, 0, "bytes are not supported",
           "drop the b before the string", true);
  }

  void hexEscape(size_t start, size_t digitCount) {
    uint32_t code = 0;
    size_t read = 0;
    for (; read < digitCount && pos < text.size() && digitValue(text[pos]) < 16;
         ++read)
      code = code * 16 + uint32_t(digitValue(text[pos++]));
    if (read == digitCount && code >= 0xd800 && code < 0xe000) {
      fail(DiagnosticId::InvalidString, start, "half of a surrogate pair",
           "write the character itself", true);
      return;
    }
    if (read < digitCount || code > 0x10ffff) {
      fail(DiagnosticId::InvalidString, start, "invalid escape in a string",
           "\\x takes 2 hexadecimal digits, \\u 4 and \\U 8");
      return;
    }
    appendUtf8(out, code);
  }

  void escape() {
    size_t start = pos++;
    if (pos >= text.size()) {
      out += '\\';
      return;
    }
    char c = text[pos];
    if (raw) {
      out += '\\';
      if (text.substr(pos, 2) == "\r\n")
        ++pos; // Python sees \n
      out += text[pos++];
      return;
    }
    const bool bytes = flags.find('b') != std::string::npos;
    static constexpr std::string_view from = "abfnrtv\\'\"";
    static constexpr std::string_view to = "\a\b\f\n\r\t\v\\'\"";
    if (size_t index = from.find(c); index != std::string_view::npos) {
      out += to[index];
      ++pos;
    } else if (c == '\n') {
      ++pos;
    } else if (text.substr(pos, 2) == "\r\n") {
      pos += 2;
    } else if (c == 'x' || (!bytes && (c == 'u' || c == 'U'))) {
      ++pos;
      hexEscape(start, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c >= '0' && c <= '7') {
      uint32_t code = 0;
      for (int i = 0;
           i < 3 && pos < text.size() && text[pos] >= '0' && text[pos] <= '7';
           ++i)
        code = code * 8 + uint32_t(text[pos++] - '0');
      appendUtf8(out, code);
    } else if (c == 'N' && !bytes) {
      ++pos;
      fail(DiagnosticId::InvalidString, start,
           "named characters are not supported", "use \\u and its number",
           true);
    } else {
      out += '\\'; // Python keeps the backslash of unknown escapes
    }
  }

  std::string_view text;
  size_t pos;
  std::string flags, out;
  bool raw = false;
  LiteralResult result;
};

} // namespace

LiteralResult readNumber(std::string_view text) {
  return NumberReader(text).read();
}

LiteralResult readString(std::string_view text, size_t prefix) {
  return StringReader(text, prefix).read();
}

size_t findInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    unsigned char c = text[i];
    size_t more = c < 0x80                ? 0
                  : c >= 0xc2 && c < 0xe0 ? 1
                  : c >= 0xe0 && c < 0xf0 ? 2
                  : c >= 0xf0 && c < 0xf5 ? 3
                                          : 9;
    if (more == 9 || i + more >= text.size() + (more == 0))
      return i;
    for (size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80)
        return i;
    unsigned char second = more ? text[i + 1] : 0;
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) ||
        (c == 0xf0 && second < 0x90) || (c == 0xf4 && second >= 0x90))
      return i;
    i += more + 1;
  }
  return std::string_view::npos;
}

} // namespace tessera::language
