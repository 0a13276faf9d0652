// language/ParseFunction.cpp - parses decorators, signatures and bodies.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ParserImpl.h"

namespace tessera::language {

// True if the expression is NAME or something.NAME.
bool Parser::endsWithName(const Expr *expr, std::string_view name) {
  if (!expr)
    return false;
  if (const auto *plain = expr->as<Name>())
    return plain->id == name;
  if (const auto *attribute = expr->as<Attribute>())
    return attribute->attribute == name;
  if (const auto *constant = expr->as<Constant>())
    if (const std::string *text = constant->value.get<std::string>())
      return *text == name || text->ends_with("." + std::string(name));
  return false;
}

void Parser::parseParameters(FunctionDef &function) {
  expect("(", "the name of the function");
  bool keywordOnly = false;
  while (!at(")")) {
    // def f(x, *, y): callers pass y by name.
    if ((function.isJit || function.isConstexpr) && !keywordOnly && at("*") &&
        peek(1).is(",")) {
      next();
      next();
      keywordOnly = true;
      if (at(")"))
        unexpected("a parameter after `*`");
      continue;
    }
    if (at("*") || at("**") || at("/"))
      unsupported(peek().range,
                  "`" + std::string(peek().text) + "` among parameters",
                  "name every parameter");
    const Token &name = expectName("a parameter");
    Parameter parameter;
    parameter.name = std::string(name.text);
    parameter.range = name.range;
    parameter.isKeywordOnly = keywordOnly;
    for (const Parameter &other : function.parameters)
      if (other.name == parameter.name)
        report(DiagnosticId::DuplicateName, name.range,
               "two parameters are called `" + parameter.name + "`",
               "rename one");
    if (accept(":"))
      parameter.annotation = parseExpression();
    parameter.isConstexpr =
        endsWithName(parameter.annotation.get(), "constexpr");
    if (accept("="))
      parameter.defaultValue = parseExpression();
    else if (!keywordOnly && !function.parameters.empty() &&
             function.parameters.back().defaultValue)
      report(DiagnosticId::SyntaxError, name.range,
             "a parameter without a default after one with a default",
             "give it a default, or move it to the front");
    function.parameters.push_back(std::move(parameter));
    if (!accept(","))
      break;
  }
  expect(")", "the parameters");
}

// Parses the line of a decorator. If it contains Python that the parser does
// not know, keeps its name only.
void Parser::parseDecorator(FunctionDef &node) {
  next();
  const size_t begin = position, reported = list.diagnostics.size();
  const std::string head = dottedName(position);
  const std::string_view last =
      std::string_view(head).substr(head.rfind('.') + 1);
  const bool isJit = isTritonJit(head, /*nestedInHost=*/false);
  if (isJit)
    node.jitDecorator = node.decorators.size();
  node.isJit |= isJit;
  node.isConstexpr |= last == "constexpr_function" || last == "constexpr";
  try {
    node.decorators.push_back(parseExpression());
    if (!at(TokenKind::Newline))
      unexpected("the end of the line");
    next();
    const Expr &written = *node.decorators.back();
    const auto *call = written.as<Call>();
    const Expr &called = call ? *call->function : written;
    // `triton.jit * x` begins like triton.jit but is another expression.
    if (isJit && !called.is<Name>() && !called.is<Attribute>())
      node.problems.push_back(Diagnostic::make(
          DiagnosticId::InvalidDecorator, file, written.range,
          "the decorator is neither `" + head + "` nor a call of it",
          "write @" + head));
  } catch (const Recover &) {
    if (!isPythonSince(reported))
      throw;
    auto name = std::make_unique<Name>(list.tokens[begin].range);
    name->id = head;
    node.decorators.push_back(std::move(name));
    const auto first = list.diagnostics.begin() + ptrdiff_t(reported);
    if (isJit)
      node.problems.insert(node.problems.end(), first, list.diagnostics.end());
    list.diagnostics.erase(first, list.diagnostics.end());
    while (!at(TokenKind::Newline) && !at(TokenKind::End))
      next();
    next();
  }
}

void Parser::parseFunction(Block &block) {
  SourceRange first = peek().range;
  if (functionDepth)
    unsupported(first, "a function inside a function",
                "move it to the top of the file");
  auto node = std::make_unique<FunctionDef>();
  node->file = file;
  while (at("@"))
    parseDecorator(*node);
  if (at("class") && node->decorators.size() == 1 &&
      (endsWithName(node->decorators[0].get(), "aggregate") ||
       endsWithName(node->decorators[0].get(), "_aggregate")) &&
      parseClass(block, true))
    return;
  if (at("async") || at("class"))
    return skipHostCode(block);
  if (!at("def"))
    unexpected("`def` after the decorators");
  SourceRange start = next().range;
  attachHints(*node, start.line);
  bool isHost = !node->isJit && !node->isConstexpr;
  const Token &name = expectName("the function");
  node->name = std::string(name.text);
  node->nameRange = name.range;
  node->range = since(start);
  if (!isHost) {
    parseKernel(*node, start);
  } else if (inAggregate && node->name == "__init__") {
    parseInit(*node, start);
  } else if (!node->decorators.empty() || !parsePlainFunction(*node, start)) {
    // Keeps the name, so that a call is an error with a reason.
    skipLines();
  }
  block.push_back(std::move(node));
}

// Parses a kernel. Python syntax that kernels do not support is an error only
// if this kernel is compiled; other kernels of the file still work.
void Parser::parseKernel(FunctionDef &node, const SourceRange &start) {
  const size_t reported = list.diagnostics.size();
  try {
    parseSignatureAndBody(node, start);
  } catch (const Recover &) {
    if (!isPythonSince(reported))
      throw;
    recover();
  }
  if (!isPythonSince(reported))
    return;
  const auto first = list.diagnostics.begin() + ptrdiff_t(reported);
  node.problems.insert(node.problems.end(), first, list.diagnostics.end());
  list.diagnostics.erase(first, list.diagnostics.end());
}

void Parser::parseSignatureAndBody(FunctionDef &node,
                                   const SourceRange &start) {
  parseParameters(node);
  if (accept("->"))
    parseExpression();
  node.range = since(start);
  ++functionDepth;
  runsAtCompileTime = node.isConstexpr || !node.isJit;
  isHostFunction = !node.isConstexpr && !node.isJit;
  try {
    parseSuite(node.body, "the parameters");
  } catch (...) {
    --functionDepth;
    runsAtCompileTime = isHostFunction = false;
    throw;
  }
  --functionDepth;
  runsAtCompileTime = isHostFunction = false;
  node.docstring = takeDocstring(node.body);
}

// Parses a Python function if kernels support all of its syntax. Otherwise
// returns false without a report: the function is code around kernels.
bool Parser::parsePlainFunction(FunctionDef &node, const SourceRange &start) {
  const size_t first = position, reported = list.diagnostics.size();
  try {
    parseSignatureAndBody(node, start);
    if (list.diagnostics.size() == reported) {
      skippedHostCode = true;
      return node.isPlain = true;
    }
  } catch (const Recover &) {
  }
  list.diagnostics.erase(list.diagnostics.begin() + ptrdiff_t(reported),
                         list.diagnostics.end());
  position = first;
  node.parameters.clear();
  node.body.clear();
  node.range = since(start);
  return false;
}

std::string Parser::takeDocstring(Block &body) {
  auto textOf = [](const Stmt &stmt) {
    const auto *statement = stmt.as<ExprStmt>();
    const auto *constant =
        statement ? statement->value->as<Constant>() : nullptr;
    return constant ? constant->value.get<std::string>() : nullptr;
  };
  // Removes the strings after the docstring, too: they have no effect, but the
  // printed text would make the first of them the docstring.
  std::string result;
  auto end = body.begin();
  for (; end != body.end() && textOf(**end); ++end)
    if (end == body.begin())
      result = *textOf(**end);
  body.erase(body.begin(), end);
  return result;
}

} // namespace tessera::language
