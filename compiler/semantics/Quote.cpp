// compiler/semantics/Quote.cpp - quotes the user's source text in hints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Quote.h"

#include "language/Tree.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

namespace tessera::semantics {
namespace {

// A mark is kMark, a letter for its kind, a range, `|`, the other text, kMark.
constexpr char kMark = '\1';
constexpr size_t kLongest = 40;

std::string mark(char what, const SourceRange &range,
                 std::string_view otherwise) {
  std::string text(1, kMark);
  text += what;
  for (uint32_t number :
       {range.line, range.column, range.endLine, range.endColumn})
    text += std::to_string(number) + ",";
  return text + "|" + std::string(otherwise) + kMark;
}

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool isName(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), isWord);
}

// True if an operator or a method call can follow the text: names, numbers,
// calls, subscripts, parentheses.
bool isAtom(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (depth == 0 && !isWord(c) && c != '.' && c != ')' && c != ']')
      return false;
  }
  return true;
}

// True if one pair of parentheses holds all of the text.
bool isWrapped(std::string_view text) {
  if (text.size() < 2 || text.front() != '(')
    return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0)
      return i + 1 == text.size();
  }
  return false;
}

std::string textOf(const SourceFile &file, const SourceRange &range) {
  if (!range.known() || range.endLine != range.line ||
      range.endColumn <= range.column)
    return {};
  const std::string_view line = file.line(range.line);
  if (range.endColumn > line.size() + 1)
    return {};
  std::string_view text =
      line.substr(range.column - 1, range.endColumn - range.column);
  const size_t equals = text.find('=');
  if (equals != text.npos && isName(text.substr(0, equals)) &&
      equals + 1 < text.size() && text[equals + 1] != '=')
    text.remove_prefix(equals + 1);
  return text.size() <= kLongest ? std::string(text) : std::string();
}

// The range of an expression does not include parentheses around it.
SourceRange sideOf(const language::Expr *current, bool left) {
  if (!current)
    return {};
  if (const auto *node = current->as<language::BinOp>())
    return (left ? node->left : node->right)->range;
  if (const auto *node = current->as<language::Compare>();
      node && node->comparators.size() == 1)
    return (left ? node->left : node->comparators[0])->range;
  if (const auto *node = current->as<language::UnaryOpExpr>())
    return node->operand->range;
  return {};
}

std::string constexprHint(const std::string &text,
                          const language::FunctionDef *function) {
  if (!isName(text))
    return "it is known at run time only; write compile-time values: numbers "
           "and tl.constexpr parameters";
  if (function)
    for (const language::Parameter &parameter : function->parameters)
      if (parameter.name == text)
        return "`" + text +
               "` is known at run time only; make the parameter a constexpr: "
               "`" +
               text + ": tl.constexpr`";
  return "`" + text +
         "` is known at run time only; if its value is not, annotate it where "
         "it is assigned: `" +
         text + ": tl.constexpr = ...`";
}

} // namespace

std::string quote(const SourceRange &range, std::string_view otherwise) {
  return mark('t', range, otherwise);
}

std::string quoteOperand(const SourceRange &range, std::string_view otherwise) {
  return mark('o', range, otherwise);
}

std::string quoteLeft(bool asOperand) {
  return mark(asOperand ? 'l' : 'L', {}, "a");
}

std::string quoteRight(bool asOperand) {
  return mark(asOperand ? 'r' : 'R', {}, "b");
}

std::string quoteConstexprHint(const SourceRange &range) {
  return mark('c', range, "");
}

std::string expandQuotes(const std::string &text, const SourceFile &file,
                         const language::Expr *current,
                         const language::FunctionDef *function) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != kMark) {
      result += text[at++];
      continue;
    }
    const size_t bar = text.find('|', at);
    const size_t end = bar == text.npos ? bar : text.find(kMark, bar);
    if (end == text.npos) // a control character in the user's text
      return result + text.substr(at);
    const char what = text[at + 1];
    SourceRange range;
    std::sscanf(text.c_str() + at + 2, "%u,%u,%u,%u", &range.line,
                &range.column, &range.endLine, &range.endColumn);
    if (std::strchr("lrLR", what))
      range = sideOf(current, what == 'l' || what == 'L');
    std::string quoted = textOf(file, range);
    const bool isOperand = std::strchr("olr", what) != nullptr;
    if (!isOperand && isWrapped(quoted))
      quoted = quoted.substr(1, quoted.size() - 2);
    if (what == 'c')
      quoted = constexprHint(quoted, function);
    else if (quoted.empty())
      quoted = text.substr(bar + 1, end - bar - 1);
    else if (isOperand && !isAtom(quoted))
      quoted = "(" + quoted + ")";
    result += quoted;
    at = end + 1;
  }
  return result;
}

} // namespace tessera::semantics
