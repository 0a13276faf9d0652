// ptx/Lexer.cpp - PTX text to tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Lexer.h"

#include "support/Error.h"
#include "support/Text.h"

#include <bit>
#include <cerrno>
#include <cstdlib>

namespace tessera::ptx {
namespace {

bool isWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}
bool isWord(char c) { return isWordStart(c) || isDigit(c); }
int hexDigit(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

class Lexer {
public:
  Lexer(std::string_view text, const std::string &name)
      : text(text), name(name) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text.size() / 4 + 1);
    while (skipBlank())
      tokens.push_back(next());
    tokens.push_back({Token::Kind::End, line, 0, {}});
    return tokens;
  }

private:
  [[noreturn]] void fail(const std::string &what, const std::string &hint) {
    throw Error(name + ":" + std::to_string(line) + ": " + what, hint);
  }

  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }

  // False at the end of the text.
  bool skipBlank() {
    while (pos < text.size()) {
      char c = text[pos];
      if (c == '\n') {
        ++line;
        ++pos;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
        ++pos;
      } else if (c == '/' && at(pos + 1) == '/') {
        while (pos < text.size() && text[pos] != '\n')
          ++pos;
      } else if (c == '/' && at(pos + 1) == '*') {
        size_t end = text.find("*/", pos + 2);
        if (end == std::string_view::npos)
          fail("this comment has no end", "close it with */");
        for (; pos < end + 2; ++pos)
          line += text[pos] == '\n';
      } else {
        // Some writers end the text with a zero byte.
        if (c == '\0' &&
            text.find_first_not_of('\0', pos) == std::string_view::npos)
          return false;
        return true;
      }
    }
    return false;
  }

  Token take(Token::Kind kind, size_t length, uint64_t value = 0) {
    Token token{kind, line, value, text.substr(pos, length)};
    pos += length;
    return token;
  }

  // Segments joined by dots and double colons: ld.global.L1::evict_last.b32
  size_t wordEnd(size_t i) const {
    while (true) {
      while (isWord(at(i)))
        ++i;
      if (at(i) == '.' && isWord(at(i + 1)))
        ++i;
      else if (at(i) == ':' && at(i + 1) == ':' && isWord(at(i + 2)))
        i += 2;
      else
        return i;
    }
  }

  Token next() {
    char c = text[pos];
    if (isWordStart(c))
      return take(Token::Kind::Word, wordEnd(pos) - pos);
    if (c == '.' && isWordStart(at(pos + 1))) {
      size_t i = pos + 1;
      while (isWord(at(i)))
        ++i;
      return take(Token::Kind::Directive, i - pos);
    }
    if (isDigit(c) || (c == '.' && isDigit(at(pos + 1))))
      return number();
    if (c == '"') {
      size_t i = pos + 1;
      while (i < text.size() && text[i] != '"' && text[i] != '\n')
        i += text[i] == '\\' ? 2 : 1;
      if (at(i) != '"')
        fail("this string has no end", "close it with \" on the same line");
      Token token{Token::Kind::String, line, 0,
                  text.substr(pos + 1, i - pos - 1)};
      pos = i + 1;
      return token;
    }
    if (std::string_view("{}[]()<>,;:@!|+-=*&").find(c) !=
        std::string_view::npos)
      return take(Token::Kind::Punctuation, 1);
    fail(std::string("unexpected character ") +
             (c >= ' ' && c < 127 ? "'" + std::string(1, c) + "'"
                                  : "code " + std::to_string(c & 0xff)),
         "is this PTX text?");
  }

  Token number() {
    char second = at(pos + 1);
    if (text[pos] == '0' && (second == 'f' || second == 'F'))
      return bits(8, Token::Kind::Float32);
    if (text[pos] == '0' && (second == 'd' || second == 'D'))
      return bits(16, Token::Kind::Float64);
    size_t i = pos;
    uint64_t value = 0;
    int base = 10;
    if (text[pos] == '0' && (second == 'x' || second == 'X')) {
      base = 16;
      i += 2;
    } else if (text[pos] == '0' && (second == 'b' || second == 'B')) {
      base = 2;
      i += 2;
    } else if (text[pos] == '0' && isDigit(second)) {
      base = 8;
      i += 1;
    }
    size_t first = i;
    bool overflow = false;
    for (; hexDigit(at(i)) >= 0 && hexDigit(at(i)) < base; ++i) {
      overflow |= __builtin_mul_overflow(value, base, &value);
      overflow |= __builtin_add_overflow(value, hexDigit(at(i)), &value);
    }
    char stop = at(i);
    if (base != 16 && base != 2 &&
        ((stop == '.' && !isWordStart(at(i + 1))) || stop == 'e' ||
         stop == 'E'))
      return decimal();
    if (i == first && base != 8)
      fail("a number without digits", "write 0x1F, 31 or 037");
    if (overflow)
      fail("a number of more than 64 bits", "PTX integers have 64 bits");
    if (at(i) == 'U')
      ++i;
    if (isWord(at(i)))
      fail("unexpected '" + std::string(1, at(i)) + "' in a number",
           "write 0x1F, 31, 0f3F800000 or 1.5");
    return take(Token::Kind::Integer, i - pos, value);
  }

  Token bits(int digits, Token::Kind kind) {
    uint64_t value = 0;
    for (int i = 0; i < digits; ++i) {
      int digit = hexDigit(at(pos + 2 + i));
      if (digit < 0)
        fail("a floating-point constant needs " + std::to_string(digits) +
                 " hexadecimal digits",
             "0f3F800000 is 1.0 in 32 bits, 0d3FF0000000000000 in 64");
      value = value << 4 | digit;
    }
    if (isWord(at(pos + 2 + digits)))
      fail("too many digits in a floating-point constant",
           "0f takes 8 hexadecimal digits, 0d takes 16");
    return take(kind, 2 + digits, value);
  }

  Token decimal() {
    // strtod wants a terminated string; numbers are short.
    std::string digits(text.substr(pos, 64));
    char *end = nullptr;
    double value = std::strtod(digits.c_str(), &end);
    size_t length = end - digits.c_str();
    if (length == 0 || isWord(at(pos + length)))
      fail("a number that cannot be read", "write 1.5 or 1.5e3");
    return take(Token::Kind::Float64, length, std::bit_cast<uint64_t>(value));
  }

  std::string_view text;
  const std::string &name;
  size_t pos = 0;
  uint32_t line = 1;
};

} // namespace

std::vector<Token> lexPtx(std::string_view text, const std::string &name) {
  return Lexer(text, name).run();
}

} // namespace tessera::ptx
