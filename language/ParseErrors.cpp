// language/ParseErrors.cpp - chooses the message for an unexpected token.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ParserImpl.h"

#include "language/Lexer.h"

#include <algorithm>
#include <string>

namespace tessera::language {

// Returns a hint for syntax of other languages and for a forgotten comma.
std::string Parser::missedHint(std::string_view wanted) const {
  const Token &token = peek();
  const Token *last = position > 0 ? &list.tokens[position - 1] : nullptr;
  if (wanted == "an expression" && last && token.is(last->text) &&
      (token.is("&") || token.is("|")))
    return std::string("Python writes `") + (token.is("&") ? "and" : "or") +
           "`; masks are joined with one `" + std::string(token.text) + "`";
  if (wanted == "an expression" && token.kind == TokenKind::Newline && last &&
      (last->is("+") || last->is("-")) && position > 1 &&
      list.tokens[position - 2].is(last->text))
    return "write `" + std::string(last->text) + "= 1`";
  const bool value = token.kind == TokenKind::Name ||
                     token.kind == TokenKind::Number ||
                     token.kind == TokenKind::String;
  if (value && (wanted.starts_with("`)`") || wanted.starts_with("`]`")))
    return "is a comma missing before `" + std::string(token.text) + "`?";
  return {};
}

void Parser::reportForeign(const Token &token) {
  const Diagnostic &diagnostic = list.foreign[token.value];
  foreignPlaces.insert({diagnostic.range.line, diagnostic.range.column});
  list.diagnostics.push_back(diagnostic);
  throw Recover();
}

// True if there are reports since `reported` and all of them are for valid
// Python that kernels do not support.
bool Parser::isPythonSince(size_t reported) const {
  const auto &all = list.diagnostics;
  return all.size() > reported &&
         std::all_of(all.begin() + ptrdiff_t(reported), all.end(),
                     [&](const Diagnostic &diagnostic) {
                       return diagnostic.id ==
                                  DiagnosticId::UnsupportedSyntax ||
                              diagnostic.id == DiagnosticId::TooComplex ||
                              foreignPlaces.count({diagnostic.range.line,
                                                   diagnostic.range.column});
                     });
}

void Parser::unexpected(std::string_view wanted) {
  const Token &token = peek();
  if (token.kind == TokenKind::Invalid) // reported by the lexer
    throw Recover();
  if (token.kind == TokenKind::Foreign)
    reportForeign(token);
  std::string found;
  switch (token.kind) {
  case TokenKind::End:
    found = "the end of the file";
    break;
  case TokenKind::Newline:
    found = "the end of the line";
    break;
  case TokenKind::Indent:
    found = "a deeper indentation";
    break;
  case TokenKind::Dedent:
    found = "the end of the block";
    break;
  default: {
    std::string text(token.text.substr(0, token.text.find('\n')));
    found = "`" + (text.size() > 30 ? text.substr(0, 27) + "..." : text) + "`";
    // Does not cut a UTF-8 character.
    if (findInvalidUtf8(found) != std::string::npos)
      found = "this text";
  }
  }
  std::string message = "expected " + std::string(wanted) + ", found " + found;
  std::string hint = "the syntax is Python's";
  if (token.is("="))
    hint = "`==` compares; `=` assigns, in a statement of its own";
  else if (wanted.starts_with("`:`"))
    hint = "end the line with `:`";
  else if (const std::string other = missedHint(wanted); !other.empty())
    hint = other;
  else if (token.kind == TokenKind::Keyword)
    hint = "`" + std::string(token.text) + "` is a word of the language";
  else if (token.kind == TokenKind::Indent)
    hint = "line the code up with the line above";
  fail(token.kind == TokenKind::Indent ? DiagnosticId::InvalidIndentation
                                       : DiagnosticId::SyntaxError,
       token.range, std::move(message), std::move(hint));
}

} // namespace tessera::language
