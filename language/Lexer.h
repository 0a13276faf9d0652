// language/Lexer.h - splits the text of a kernel file into tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Tree.h"
#include "support/Diagnostics.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

enum class TokenKind {
  Name,
  Keyword,
  Number, // value is an Int or a double
  String, // value is the text; adjacent strings are joined by the parser
  // f"a {b} c" is FormatOpen, String a, `{`, the tokens of b, `}`, String c,
  // FormatClose.
  FormatOpen,
  FormatClose,
  Operator,
  Newline,
  Indent,
  Dedent,
  // Python that kernels do not have, such as b"bytes". `value` is the index of
  // the diagnostic that is reported if a kernel needs it.
  Foreign,
  Invalid, // already reported
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text; // into the file's text
  SourceRange range;
  uint32_t value = 0; // index into TokenList::values

  bool is(std::string_view spelling) const {
    return (kind == TokenKind::Operator || kind == TokenKind::Keyword) &&
           text == spelling;
  }
};

struct TokenList {
  std::vector<Token> tokens; // ends with End
  std::vector<Value> values; // of numbers and strings
  std::vector<HintComment> hints;
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> foreign; // of Foreign tokens
};

inline constexpr size_t maxFileBytes = 1 << 20;
inline constexpr size_t maxBrackets = 100;
inline constexpr size_t maxIndentation = 60;

bool isKeyword(std::string_view word);

// Returns the tokens of the file; does not throw for any text. Views in the
// result point into the file.
TokenList lex(std::shared_ptr<const SourceFile> file);

// The result of reading a number or string literal at the beginning of a text.
// The lexer reports `error` as a diagnostic.
struct LiteralResult {
  size_t length = 0;
  Value value;
  DiagnosticId id = DiagnosticId::SyntaxError;
  std::string error, hint; // no error: empty
  size_t errorOffset = 0;
  bool foreign = false;   // an error only if a kernel needs the literal
  bool formatted = false; // f"..."; the value still has its braces
};
LiteralResult readNumber(std::string_view text);
// `prefix` is the length of the letters before the quote.
LiteralResult readString(std::string_view text, size_t prefix);

// Returns the offset of the first byte that is not valid UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text);

} // namespace tessera::language
