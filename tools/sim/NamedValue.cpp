// tools/sim/NamedValue.cpp - prints values of a kernel by their names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/NamedValue.h"

#include "language/Lexer.h"
#include "language/Parser.h"
#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace tessera::tools {

using namespace language;

namespace {

const std::string marker = "tessera debug value ";

// Returns the last line of a statement. The range of a loop or a branch may end
// with its head, so the body counts too.
uint32_t lastLine(const Stmt &stmt) {
  const Block *body = nullptr;
  if (const auto *loop = stmt.as<For>())
    body = &loop->body;
  else if (const auto *loop = stmt.as<While>())
    body = &loop->body;
  else if (const auto *branch = stmt.as<If>())
    body = branch->orelse.empty() ? &branch->body : &branch->orelse;
  return body && !body->empty()
             ? std::max(stmt.range.endLine, lastLine(*body->back()))
             : stmt.range.endLine;
}

const Stmt *innermost(const Block &block, uint32_t line);

// Returns the statement of one of these blocks that contains the line, or else
// `head`.
const Stmt *inside(const Stmt &head,
                   std::initializer_list<const Block *> blocks, uint32_t line) {
  for (const Block *block : blocks)
    if (const Stmt *found = innermost(*block, line))
      return found;
  return &head;
}

const Stmt *innermost(const Block &block, uint32_t line) {
  // If the line has several statements, uses the last one.
  for (auto it = block.rbegin(); it != block.rend(); ++it) {
    const Stmt &stmt = **it;
    if (line < stmt.range.line || lastLine(stmt) < line)
      continue;
    if (const auto *loop = stmt.as<For>())
      return inside(stmt, {&loop->body}, line);
    if (const auto *loop = stmt.as<While>())
      return inside(stmt, {&loop->body}, line);
    if (const auto *branch = stmt.as<If>())
      return inside(stmt, {&branch->body, &branch->orelse}, line);
    return &stmt;
  }
  return nullptr;
}

const FunctionDef *functionOf(const Module &module, uint32_t line) {
  for (const StmtPtr &stmt : module.body)
    if (const auto *function = stmt->as<FunctionDef>();
        function && !function->body.empty() &&
        function->body.front()->range.line <= line &&
        line <= lastLine(*function->body.back()))
      return function;
  return nullptr;
}

size_t offsetOf(const std::string &text, uint32_t line, uint32_t column) {
  size_t at = 0;
  for (uint32_t k = 1; k < line; ++k)
    at = text.find('\n', at) + 1;
  return at + column - 1;
}

// Returns the end of the last token of the logical line that the statement
// ends. The range of an expression excludes enclosing brackets.
size_t endOf(const std::shared_ptr<const SourceFile> &file, const Stmt &stmt) {
  const TokenList list = lex(file);
  size_t end = 0;
  for (const Token &token : list.tokens) {
    const SourceRange &range = token.range;
    const bool behind = range.line > stmt.range.endLine ||
                        (range.line == stmt.range.endLine &&
                         range.column >= stmt.range.endColumn);
    if (behind &&
        (token.kind == TokenKind::Newline || token.kind == TokenKind::End))
      break;
    if (token.kind != TokenKind::Newline)
      end = size_t(token.text.data() - file->text().data()) + token.text.size();
  }
  return end;
}

void printsOf(const std::vector<std::string> &expressions, std::string &to) {
  for (size_t k = 0; k < expressions.size(); ++k)
    to += (k ? "; " : "") + std::string("print(\"") + marker +
          std::to_string(k) + "\", " + expressions[k] + ")";
}

} // namespace

std::string withPrints(const std::string &text, const std::string &file,
                       uint32_t line,
                       const std::vector<std::string> &expressions) {
  const auto source = std::make_shared<const SourceFile>(file, text);
  const ParseResult parsed = parse(source);
  const std::string place = "line " + std::to_string(line) + " of " + file;
  const FunctionDef *function = functionOf(*parsed.module, line);
  const Stmt *stmt = function ? innermost(function->body, line) : nullptr;
  if (!stmt)
    throw Error(place + " is not a statement of a kernel",
                "name the line of an assignment: the value is printed after "
                "it");
  if (stmt->is<For>() || stmt->is<While>() || stmt->is<If>() ||
      stmt->is<FunctionDef>())
    throw Error(place + " is the head of a block",
                "name a line of the block's body, or a later one");
  std::string prints;
  printsOf(expressions, prints);
  std::string result = text;
  if (stmt->is<Return>())
    return result.insert(offsetOf(text, stmt->range.line, stmt->range.column),
                         prints + "; ");
  return result.insert(endOf(source, *stmt), "; " + prints);
}

namespace {

// A printed line: pid (0, 0, 0) idx (3, 1) tessera debug value 0 fp32[8, 4]:
// 1.5
struct Line {
  std::vector<int64_t> index, shape;
  size_t expression = 0;
  std::string type, value;
};

std::vector<int64_t> numbers(std::string_view text) {
  std::vector<int64_t> result;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc())
      result.push_back(value);
    at = error == std::errc() ? next : at + 1;
  }
  return result;
}

std::optional<Line> readLine(std::string_view text) {
  const size_t mark = text.find(marker);
  if (mark == std::string_view::npos)
    return std::nullopt;
  Line line;
  const size_t idx = text.find(" idx (");
  if (idx != std::string_view::npos && idx < mark)
    line.index = numbers(text.substr(idx, mark - idx));
  text.remove_prefix(mark + marker.size());
  const char *last = text.data() + text.size();
  const auto [next, error] =
      std::from_chars(text.data(), last, line.expression);
  const size_t colon = text.find(": ");
  if (error != std::errc() || next == last || colon == std::string_view::npos)
    return std::nullopt;
  const auto name = size_t(next - text.data()) + 1;
  line.type = text.substr(name, colon - name);
  if (const size_t open = line.type.find('['); open != std::string::npos)
    line.shape = numbers(std::string_view(line.type).substr(open));
  line.value = text.substr(colon + 2);
  return line;
}

} // namespace

std::vector<NamedValue> printedValues(
    const std::string &output, const std::vector<std::string> &expressions,
    const std::array<uint32_t, 3> &program, std::optional<uint64_t> hit) {
  const std::string pid = "pid (" + std::to_string(program[0]) + ", " +
                          std::to_string(program[1]) + ", " +
                          std::to_string(program[2]) + ")";
  struct Printed {
    Line like; // any line
    // Texts by row-major index, in the order of the executions.
    std::map<size_t, std::vector<std::string>> elements;
  };
  std::map<size_t, Printed> printed;
  for (const std::string_view text : splitLines(output)) {
    if (auto line = text.starts_with(pid) ? readLine(text) : std::nullopt;
        line && line->expression < expressions.size() &&
        line->index.size() == line->shape.size()) {
      size_t position = 0;
      for (size_t axis = 0; axis < line->shape.size(); ++axis)
        position =
            position * size_t(line->shape[axis]) + size_t(line->index[axis]);
      Printed &entry = printed[line->expression];
      entry.elements[position].push_back(line->value);
      entry.like = std::move(*line);
    }
  }
  std::vector<NamedValue> result;
  for (const auto &[expression, entry] : printed) {
    NamedValue value{expressions[expression], entry.like.type,
                     entry.like.shape,        {},
                     hit.value_or(0),         0};
    size_t count = 1;
    for (int64_t size : value.shape)
      count *= size_t(size);
    for (const auto &[position, texts] : entry.elements)
      value.executions = std::max<uint64_t>(value.executions, texts.size());
    if (!hit)
      value.execution = value.executions;
    if (value.execution > value.executions)
      continue;
    value.elements.assign(count, ".");
    for (const auto &[position, texts] : entry.elements)
      if (position < count && value.execution <= texts.size())
        value.elements[position] = texts[value.execution - 1];
    result.push_back(std::move(value));
  }
  return result;
}

} // namespace tessera::tools
