// compiler/syntax/ParseHost.cpp - code around kernels, which is not read.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/ParserImpl.h"

#include <algorithm>

namespace tessera::syntax {

// A kernel file may hold code that prepares launches, tests, and so on. Nothing
// of it is read but its imports, as in `try: from x import y`.
bool Parser::hostStatementStarts() const {
  if (functionDepth || !at(TokenKind::Keyword))
    return false;
  for (std::string_view word :
       {"class", "try", "except", "finally", "with", "async", "if", "elif",
        "else", "for", "while", "assert", "del", "raise", "global", "await",
        "return", "yield"})
    if (at(word))
      return true;
  return false;
}

// The rest of the logical line and the block that follows it.
void Parser::skipHostCode(Block &block) {
  if (at("class") && parseNamedTuple(block))
    return;
  skippedHostCode = true;
  for (std::string_view word :
       {"if", "elif", "else", "try", "except", "finally", "with"})
    if (at(word))
      return takeHostNames(block, word);
  while (!at(TokenKind::Newline) && !at(TokenKind::End))
    next();
  if (at(TokenKind::Newline))
    next();
  if (at(TokenKind::Indent))
    skipBlock();
}

// class NAME(NamedTuple): with fields alone. Nothing is read, nothing reported
// where it is another class or holds more.
bool Parser::parseNamedTuple(Block &block) {
  const size_t first = position, reported = list.diagnostics.size();
  SourceRange start = next().range;
  auto node = std::make_unique<FunctionDef>();
  node->file = file;
  node->isNamedTuple = true;
  try {
    const Token &name = expectName("the class");
    node->name = std::string(name.text);
    node->nameRange = name.range;
    expect("(", "the class");
    ExprPtr base = parseExpression();
    expect(")", "the base class");
    node->range = since(start);
    Block fields;
    if (endsWithName(base.get(), "NamedTuple")) {
      parseSuite(fields, "the class");
      node->docstring = takeDocstring(fields);
      for (StmtPtr &field : fields) {
        auto *stmt = field->as<AnnAssign>();
        auto *target = stmt ? stmt->target->as<Name>() : nullptr;
        if (!target)
          break;
        Parameter parameter;
        parameter.name = target->id;
        parameter.range = target->range;
        parameter.annotation = std::move(stmt->annotation);
        parameter.defaultValue = std::move(stmt->value);
        node->parameters.push_back(std::move(parameter));
      }
    }
    if (!fields.empty() && node->parameters.size() == fields.size() &&
        list.diagnostics.size() == reported) {
      block.push_back(std::move(node));
      return true;
    }
  } catch (const Recover &) {
  }
  list.diagnostics.erase(list.diagnostics.begin() + ptrdiff_t(reported),
                         list.diagnostics.end());
  position = first;
  return false;
}

static const std::string *boundName(const Stmt &stmt) {
  if (const auto *import = stmt.as<Import>())
    return &import->alias;
  if (const auto *from = stmt.as<ImportFrom>())
    return from->level ? nullptr : &from->alias;
  if (const auto *function = stmt.as<FunctionDef>())
    return &function->name;
  const Expr *target = nullptr;
  if (const auto *assign = stmt.as<Assign>(); assign)
    target = assign->targets.size() == 1 ? assign->targets[0].get() : nullptr;
  else if (const auto *annotated = stmt.as<AnnAssign>())
    target = annotated->value ? annotated->target.get() : nullptr;
  const auto *name = target ? target->as<Name>() : nullptr;
  return name ? &name->id : nullptr;
}

// What the block of a branch binds counts, as in `try: from x import y`. Of
// branches that bind the same, `try` is preferred to `except`, and `else` to
// `if`, whose condition is not evaluated.
void Parser::takeHostNames(Block &block, std::string_view word) {
  Deeper deeper(*this);
  const bool replaces = word == "else" || word == "elif";
  while (!at(TokenKind::Newline) && !at(TokenKind::End))
    next();
  if (at(TokenKind::Newline))
    next();
  if (!at(TokenKind::Indent))
    return;
  next();
  Block found;
  while (!at(TokenKind::Dedent) && !at(TokenKind::End))
    parseStatement(found);
  if (at(TokenKind::Dedent))
    next();
  for (StmtPtr &stmt : found) {
    const std::string *name = boundName(*stmt);
    if (!name)
      continue;
    auto known = std::find_if(block.begin(), block.end(), [&](auto &other) {
      return boundName(*other) && *boundName(*other) == *name;
    });
    if (known == block.end())
      block.push_back(std::move(stmt));
    else if (replaces && hostNames.contains(*name))
      *known = std::move(stmt);
    else
      continue;
    hostNames.insert(*name);
  }
}

} // namespace tessera::syntax
