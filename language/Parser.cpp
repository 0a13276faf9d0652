// language/Parser.cpp - parses statements and recovers from errors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Parser.h"

#include "language/ParserImpl.h"
#include "support/Error.h"

#include <algorithm>

namespace tessera::language {

Parser::Parser(std::shared_ptr<const SourceFile> file)
    : file(file), list(lex(std::move(file))) {}

const Token &Parser::peek(size_t ahead) const {
  return list.tokens[std::min(position + ahead, list.tokens.size() - 1)];
}

const Token &Parser::next() {
  const Token &token = peek();
  if (position + 1 < list.tokens.size())
    ++position;
  return token;
}

bool Parser::accept(std::string_view spelling) {
  if (!at(spelling))
    return false;
  next();
  return true;
}

const Token &Parser::expect(std::string_view spelling, std::string_view after) {
  if (!at(spelling))
    unexpected("`" + std::string(spelling) + "` after " + std::string(after));
  return next();
}

const Token &Parser::expectName(std::string_view what) {
  if (!at(TokenKind::Name))
    unexpected("the name of " + std::string(what));
  return next();
}

SourceRange Parser::since(const SourceRange &start) const {
  SourceRange range = start;
  if (position > 0) {
    const SourceRange &last = list.tokens[position - 1].range;
    range.endLine = last.endLine;
    range.endColumn = last.endColumn;
  }
  return range;
}

void Parser::report(DiagnosticId id, SourceRange range, std::string message,
                    std::string hint) {
  list.diagnostics.push_back(
      Diagnostic::make(id, file, range, std::move(message), std::move(hint)));
}

void Parser::fail(DiagnosticId id, SourceRange range, std::string message,
                  std::string hint) {
  report(id, range, std::move(message), std::move(hint));
  throw Recover();
}

void Parser::unsupported(SourceRange range, std::string what,
                         std::string hint) {
  fail(DiagnosticId::UnsupportedSyntax, range, what + " is not supported",
       std::move(hint));
}

// Skips the rest of the line and its block.
void Parser::recover() {
  while (!at(TokenKind::Newline) && !at(TokenKind::End)) {
    if (at(TokenKind::Indent))
      return skipBlock();
    if (at(TokenKind::Dedent))
      return;
    next();
  }
  if (at(TokenKind::Newline))
    next();
  if (at(TokenKind::Indent))
    skipBlock();
}

void Parser::skipBlock() {
  size_t open = 0;
  do {
    if (at(TokenKind::Indent))
      ++open;
    else if (at(TokenKind::Dedent))
      --open;
    next();
  } while (open && !at(TokenKind::End));
}

std::unique_ptr<Module> Parser::parseFile() {
  auto module = std::make_unique<Module>();
  module->file = file;
  parseModuleBody(*module);
  module->docstring = takeDocstring(module->body);
  std::erase_if(module->body,
                [](const StmtPtr &stmt) { return stmt->is<ExprStmt>(); });
  markDuplicates(*module);
  module->nested = std::move(nested);
  return module;
}

// Marks duplicate definitions. Two kernels of one name are an error where the
// name is used. Of host functions, as with @overload, the last one counts.
void Parser::markDuplicates(Module &module) {
  std::map<std::string_view, FunctionDef *> kernels;
  for (const StmtPtr &stmt : module.body) {
    auto *function = stmt->as<FunctionDef>();
    if (!function || (!function->isJit && !function->isConstexpr))
      continue;
    auto [first, isFirst] = kernels.emplace(function->name, function);
    if (isFirst)
      continue;
    for (FunctionDef *either : {first->second, function})
      either->problems.push_back(Diagnostic::make(
          DiagnosticId::DuplicateName, file, function->nameRange,
          "`" + function->name + "` is defined twice",
          "rename or remove one of the functions"));
  }
}

void Parser::parseModuleBody(Module &module) {
  while (!at(TokenKind::End)) {
    if (at(TokenKind::Newline) || at(TokenKind::Dedent)) {
      next();
      continue;
    }
    uint32_t firstLine = peek().range.line;
    parseStatement(module.body);
    size_t last = position;
    while (last > 0 && (list.tokens[last - 1].kind == TokenKind::Dedent ||
                        list.tokens[last - 1].kind == TokenKind::Newline))
      --last;
    if (last > 0)
      rejectHintsInside(firstLine, list.tokens[last - 1].range.endLine);
  }
  for (; nextHint < list.hints.size(); ++nextHint)
    report(DiagnosticId::InvalidHint, list.hints[nextHint].range,
           "no function follows the hint",
           "write hints above the function that they are for");
}

// Reports hints inside of a statement, which apply to no function. Hints before
// a statement other than a function apply to the next function.
void Parser::rejectHintsInside(uint32_t firstLine, uint32_t lastLine) {
  auto inside = [&](const HintComment &hint) {
    return hint.range.line > firstLine && hint.range.line <= lastLine;
  };
  for (size_t i = nextHint; i < list.hints.size(); ++i)
    if (inside(list.hints[i]))
      report(DiagnosticId::InvalidHint, list.hints[i].range,
             "a hint inside of a function or statement",
             "write hints above the function that they are for");
  list.hints.erase(
      std::remove_if(list.hints.begin() + nextHint, list.hints.end(), inside),
      list.hints.end());
}

void Parser::attachHints(FunctionDef &function, uint32_t beforeLine) {
  while (nextHint < list.hints.size() &&
         list.hints[nextHint].range.line < beforeLine)
    function.hints.push_back(std::move(list.hints[nextHint++]));
}

void Parser::parseStatement(Block &block) {
  const size_t start = position, reported = list.diagnostics.size();
  try {
    Deeper deeper(*this);
    links = 0;
    if (at(TokenKind::Indent))
      unexpected("a statement");
    if (hostStatementStarts() || softKeywordStarts())
      return skipHostCode(block);
    rejectKeyword();
    if (at("@") || at("def"))
      parseFunction(block);
    else if (at("for"))
      parseFor(block);
    else if (at("if"))
      parseIf(block);
    else if (at("while"))
      parseWhile(block);
    else
      parseSimpleLine(block);
  } catch (const Recover &) {
    if (!functionDepth && isPythonSince(reported))
      return skipUnread(block, start, reported);
    const bool attempt = list.tokens[start].is("try");
    recover();
    if (position == start)
      next();
    // The report for `try` covers its other clauses.
    while (attempt && (at("except") || at("else") || at("finally")))
      recover();
  }
}

// Reports statements that kernels do not support, each with a replacement.
void Parser::rejectKeyword() {
  static constexpr struct {
    std::string_view word, hint;
  } rejected[] = {
      {"class", "kernels are functions; pass values as arguments"},
      {"try", "kernels raise no exceptions"},
      {"with", "kernels have no context managers"},
      {"async", "a kernel runs from top to bottom"},
      {"await", "a kernel runs from top to bottom"},
      {"yield", "return the value"},
      {"global", "pass the value as an argument; module constants are read "
                 "without `global`"},
      {"nonlocal", "pass the value as an argument"},
      {"del", "variables end with the function"},
      {"break", "put the rest of the loop's body under an `if`"},
      {"continue", "put the rest of the loop's body under an `if`"},
  };
  if (!at(TokenKind::Keyword))
    return;
  if (runsAtCompileTime && (at("break") || at("continue")))
    return;
  for (const auto &[word, hint] : rejected)
    if (at(word))
      unsupported(peek().range, "`" + std::string(word) + "`",
                  std::string(hint));
  if (at("else") || at("elif") || at("except") || at("finally"))
    fail(DiagnosticId::SyntaxError, peek().range,
         "`" + std::string(peek().text) + "` that belongs to no statement",
         "line it up with its `if`");
}

void Parser::parseSimpleLine(Block &block) {
  while (true) {
    parseSimple(block);
    if (!accept(";"))
      break;
    if (at(TokenKind::Newline))
      break;
    rejectKeyword();
  }
  if (at(TokenKind::End))
    return;
  if (!at(TokenKind::Newline))
    unexpected("the end of the line");
  next();
}

void Parser::parseSimple(Block &block) {
  SourceRange start = peek().range;
  if (accept("pass")) {
    block.push_back(std::make_unique<Pass>(start));
  } else if (accept("return")) {
    auto node = std::make_unique<Return>();
    if (!at(TokenKind::Newline) && !at(";") && !at(TokenKind::End))
      node->value = parseExpressionList();
    node->range = since(start);
    block.push_back(std::move(node));
  } else if (accept("break")) {
    block.push_back(std::make_unique<Break>(start));
  } else if (accept("continue")) {
    block.push_back(std::make_unique<Continue>(start));
  } else if (at("assert")) {
    parseAssert(block);
  } else if (accept("raise")) {
    auto node = std::make_unique<Raise>();
    if (!at(TokenKind::Newline) && !at(";") && !at(TokenKind::End))
      node->value = parseExpression();
    if (accept("from"))
      parseExpression();
    node->range = since(start);
    block.push_back(std::move(node));
  } else if (at("import") || at("from")) {
    if (functionDepth)
      unsupported(start, "an import inside a function",
                  "import at the top of the file");
    if (at("import"))
      parseImport(block);
    else
      parseImportFrom(block);
  } else {
    parseExpressionStatement(block);
  }
}

static std::string elementHint(const Expr &block) {
  const auto *name = block.as<Name>();
  const std::string x = name ? name->id : "x";
  return "a block is a value: choose elementwise with " + x +
         " = tl.where(condition, new, " + x +
         "), or write memory with tl.store";
}

// True for x[i] and x.y, to which code around kernels may assign.
static bool isElement(const Expr &target) {
  return target.is<Subscript>() || target.is<Attribute>();
}

void Parser::checkTarget(const Expr &target) {
  if (!functionDepth && (isElement(target) || target.is<Starred>()))
    return; // code around kernels; it binds no name
  switch (target.kind) {
  case ExprKind::Name:
    return;
  case ExprKind::Tuple:
    for (const ExprPtr &element : target.to<TupleExpr>().elements)
      checkTarget(*element);
    return;
  case ExprKind::List:
    for (const ExprPtr &element : target.to<ListExpr>().elements)
      checkTarget(*element);
    return;
  case ExprKind::Subscript:
    unsupported(target.range, "assigning to an element",
                elementHint(*target.to<Subscript>().value));
  case ExprKind::Attribute:
    if (const auto *object = target.to<Attribute>().value->as<Name>();
        object && !initSelf.empty() && object->id == initSelf)
      return;
    unsupported(target.range, "assigning to an attribute",
                "assign to a variable");
  case ExprKind::Starred:
    unsupported(target.range, "`*` before a target", "name every variable");
  default:
    fail(DiagnosticId::SyntaxError, target.range, "this cannot be assigned to",
         "the left side must be a name");
  }
}

void Parser::checkIterationTarget(const Expr &target) {
  if (!functionDepth && (isElement(target) || target.is<ListExpr>()))
    unsupported(target.range, "a loop variable that is not a name",
                "write `for i in ...`");
  if (!target.is<Name>() && !target.is<TupleExpr>())
    fail(DiagnosticId::SyntaxError, target.range,
         "the loop variable must be a name", "write `for i in ...`");
  checkTarget(target);
}

void Parser::parseExpressionStatement(Block &block) {
  static constexpr std::pair<std::string_view, BinaryOp> augmented[] = {
      {"+=", BinaryOp::Add},       {"-=", BinaryOp::Sub},
      {"*=", BinaryOp::Mul},       {"/=", BinaryOp::Div},
      {"//=", BinaryOp::FloorDiv}, {"%=", BinaryOp::Mod},
      {"**=", BinaryOp::Pow},      {"<<=", BinaryOp::LShift},
      {">>=", BinaryOp::RShift},   {"&=", BinaryOp::And},
      {"|=", BinaryOp::Or},        {"^=", BinaryOp::Xor},
      {"@=", BinaryOp::MatMul}};
  SourceRange start = peek().range;
  ExprPtr first = parseExpressionList(true);
  if (at(":")) {
    if (!functionDepth && isElement(*first))
      unsupported(first->range, "an annotation of an element or attribute",
                  "write `name: type = value`");
    if (!first->is<Name>())
      fail(DiagnosticId::SyntaxError, first->range,
           "only a name can have an annotation", "write `name: type = value`");
    next();
    auto node = std::make_unique<AnnAssign>();
    node->target = std::move(first);
    node->annotation = parseExpression();
    if (accept("="))
      node->value = parseExpressionList(true);
    node->range = since(start);
    block.push_back(std::move(node));
    return;
  }
  for (const auto &[spelling, op] : augmented) {
    if (!at(spelling))
      continue;
    checkTarget(*first);
    if (!functionDepth && isElement(*first))
      unsupported(first->range, "changing an element or attribute",
                  "write the final value");
    if (!first->is<Name>())
      fail(DiagnosticId::SyntaxError, first->range,
           "`" + std::string(spelling) + "` takes one name on its left",
           "write one statement for each variable");
    next();
    auto node = std::make_unique<AugAssign>();
    node->target = std::move(first);
    node->op = op;
    node->value = parseExpressionList();
    node->range = since(start);
    block.push_back(std::move(node));
    return;
  }
  if (at("=")) {
    auto node = std::make_unique<Assign>();
    node->value = std::move(first);
    while (accept("=")) {
      checkTarget(*node->value);
      node->targets.push_back(std::move(node->value));
      node->value = parseExpressionList(true);
    }
    node->range = since(start);
    block.push_back(std::move(node));
    return;
  }
  if (at(":="))
    unsupported(peek().range, "`:=`", "write `=`");
  auto node = std::make_unique<ExprStmt>();
  node->value = std::move(first);
  node->range = since(start);
  block.push_back(std::move(node));
}

// Parses the block after a colon. A missing colon is reported, and the block is
// still parsed.
void Parser::parseSuite(Block &block, std::string_view after) {
  if (!accept(":")) {
    try {
      unexpected("`:` after " + std::string(after));
    } catch (const Recover &) {
      while (!at(TokenKind::Newline) && !at(TokenKind::End))
        next();
    }
  }
  if (!at(TokenKind::Newline)) {
    if (at("for") || at("if") || at("while") || at("def") || at("@"))
      unexpected("a new line");
    rejectKeyword();
    return parseSimpleLine(block);
  }
  next();
  if (!at(TokenKind::Indent)) {
    report(DiagnosticId::InvalidIndentation, peek().range,
           "expected an indented block after " + std::string(after),
           "indent the body, or write `pass`");
    return;
  }
  next();
  while (!at(TokenKind::Dedent) && !at(TokenKind::End))
    parseStatement(block);
  if (at(TokenKind::Dedent))
    next();
}

void Parser::refuseLoopElse() {
  if (at("else"))
    unsupported(peek().range, "`else` after a loop",
                "a loop of a kernel always runs to its end: write the code "
                "after it");
}

void Parser::parseFor(Block &block) {
  SourceRange start = next().range;
  auto node = std::make_unique<For>();
  node->target = parseTargetList();
  checkIterationTarget(*node->target);
  if (!at("in"))
    unexpected("`in`");
  next();
  node->iterable = parseExpressionList();
  node->range = since(start);
  parseSuite(node->body, "`for`");
  block.push_back(std::move(node));
  refuseLoopElse();
}

void Parser::parseWhile(Block &block) {
  SourceRange start = next().range;
  auto node = std::make_unique<While>();
  node->test = parseExpression();
  node->range = since(start);
  parseSuite(node->body, "the condition");
  block.push_back(std::move(node));
  refuseLoopElse();
}

void Parser::parseAssert(Block &block) {
  SourceRange start = next().range;
  auto node = std::make_unique<Assert>();
  node->test = parseExpression();
  if (accept(","))
    node->message = parseExpression();
  node->range = since(start);
  block.push_back(std::move(node));
}

void Parser::parseIf(Block &block) {
  Deeper deeper(*this); // elif nests
  SourceRange start = next().range;
  auto node = std::make_unique<If>();
  node->test = parseExpression();
  node->range = since(start);
  parseSuite(node->body, "the condition");
  if (at("elif")) {
    parseIf(node->orelse);
  } else if (accept("else")) {
    parseSuite(node->orelse, "`else`");
  }
  block.push_back(std::move(node));
}

ExprPtr Parser::parseSingleExpression() {
  try {
    ExprPtr expr = parseExpressionList();
    if (!at(TokenKind::Newline) && !at(TokenKind::End))
      unexpected("the end of the expression");
    while (at(TokenKind::Newline))
      next();
    if (!at(TokenKind::End))
      unexpected("the end of the expression");
    return expr;
  } catch (const Recover &) {
    return nullptr;
  }
}

// Returns the diagnostics in the order of the file, one per position and up to
// a limit.
std::vector<Diagnostic> Parser::takeDiagnostics(const Module *module) {
  std::vector<Diagnostic> result = list.diagnostics;
  if (module)
    for (const StmtPtr &stmt : module->body)
      if (const auto *function = stmt->as<FunctionDef>())
        result.insert(result.end(), function->problems.begin(),
                      function->problems.end());
  auto key = [](const Diagnostic &diagnostic) {
    return std::pair(diagnostic.range.line, diagnostic.range.column);
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const Diagnostic &a, const Diagnostic &b) {
                     return key(a) < key(b);
                   });
  result.erase(std::unique(result.begin(), result.end(),
                           [&](const Diagnostic &a, const Diagnostic &b) {
                             return key(a) == key(b);
                           }),
               result.end());
  if (result.size() > maxDiagnostics)
    result.resize(maxDiagnostics);
  return result;
}

ParseResult parse(std::shared_ptr<const SourceFile> file) {
  Parser parser(std::move(file));
  ParseResult result;
  result.module = parser.parseFile();
  result.hasHostCode = parser.hasHostCode();
  result.diagnostics = parser.takeDiagnostics(result.module.get());
  result.fileDiagnostics = parser.takeDiagnostics();
  return result;
}

ExprPtr parseExpression(std::shared_ptr<const SourceFile> file) {
  Parser parser(std::move(file));
  ExprPtr expr = parser.parseSingleExpression();
  std::vector<Diagnostic> diagnostics = parser.takeDiagnostics();
  if (!diagnostics.empty())
    throw CompileError(std::move(diagnostics));
  return expr;
}

} // namespace tessera::language
