// tests/fuzz/LexerFuzz.cpp - any bytes as a kernel file's tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Lexer.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;
using namespace tessera::language;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file =
      std::make_shared<const SourceFile>("k.py", fuzz::text(data, size));
  const TokenList list = lex(file);
  const std::string &text = file->text();
  fuzz::require(!list.tokens.empty() &&
                    list.tokens.back().kind == TokenKind::End,
                "tokens do not end with End");
  const char *last = text.data();
  int depth = 0;
  for (const Token &token : list.tokens) {
    if (!token.text.empty()) {
      fuzz::require(token.text.data() >= last &&
                        token.text.data() + token.text.size() <=
                            text.data() + text.size(),
                    "a token's text is out of order or of the file");
      last = token.text.data();
    }
    if (!fuzz::isPlaceIn(*file, token.range))
      std::fprintf(stderr, "`%s` at %u:%u-%u:%u\n",
                   std::string(token.text).c_str(), token.range.line,
                   token.range.column, token.range.endLine,
                   token.range.endColumn);
    fuzz::require(fuzz::isPlaceIn(*file, token.range),
                  "a token outside of its line");
    if (token.kind == TokenKind::Number || token.kind == TokenKind::String)
      fuzz::require(token.value < list.values.size(),
                    "a literal without its value");
    depth += token.kind == TokenKind::Indent;
    depth -= token.kind == TokenKind::Dedent;
    fuzz::require(depth >= 0, "more dedents than indents");
  }
  fuzz::require(depth == 0, "an indent that is never left");
  fuzz::checkDiagnostics(list.diagnostics);
  return 0;
}
