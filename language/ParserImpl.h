// language/ParserImpl.h - the parser: recursive descent over the tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Only the Parse*.cpp files and Parser.cpp include this header.
#pragma once

#include "language/Lexer.h"
#include "language/Parser.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// Thrown after a report; caught where parsing can continue.
struct Recover {};

class Parser {
public:
  explicit Parser(std::shared_ptr<const SourceFile> file);

  std::unique_ptr<Module> parseFile();
  ExprPtr parseSingleExpression();
  // Returns the diagnostics, with the problems of the functions of `module` if
  // it is not null.
  std::vector<Diagnostic> takeDiagnostics(const Module *module = nullptr);
  bool hasHostCode() const { return skippedHostCode; }

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const;
  const Token &next();
  bool at(std::string_view spelling) const { return peek().is(spelling); }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool accept(std::string_view spelling);
  const Token &expect(std::string_view spelling, std::string_view after);
  const Token &expectName(std::string_view what);
  SourceRange since(const SourceRange &start) const;

  // Diagnostics.
  void report(DiagnosticId id, SourceRange range, std::string message,
              std::string hint);
  [[noreturn]] void fail(DiagnosticId id, SourceRange range,
                         std::string message, std::string hint);
  // Both apply to the current token.
  std::string missedHint(std::string_view wanted) const;
  [[noreturn]] void reportForeign(const Token &token);
  bool isPythonSince(size_t reported) const;
  [[noreturn]] void unexpected(std::string_view wanted);
  [[noreturn]] void unsupported(SourceRange range, std::string what,
                                std::string hint);

  // Statements.
  void parseModuleBody(Module &module);
  void markDuplicates(Module &module);
  void parseStatement(Block &block);
  void parseSimpleLine(Block &block);
  void parseSimple(Block &block);
  void parseExpressionStatement(Block &block);
  void parseImport(Block &block);
  void parseImportFrom(Block &block);
  void parseFor(Block &block);
  void refuseLoopElse();
  void parseWhile(Block &block);
  void parseAssert(Block &block);
  void parseIf(Block &block);
  void parseFunction(Block &block);
  void parseDecorator(FunctionDef &node);
  void parseKernel(FunctionDef &node, const SourceRange &start);
  void parseSignatureAndBody(FunctionDef &node, const SourceRange &start);
  bool parsePlainFunction(FunctionDef &node, const SourceRange &start);
  void parseParameters(FunctionDef &function);
  void parseSuite(Block &block, std::string_view after);
  void rejectKeyword();
  void checkTarget(const Expr &target);
  void checkIterationTarget(const Expr &target);
  std::string parseDottedName();
  void attachHints(FunctionDef &function, uint32_t beforeLine);
  void rejectHintsInside(uint32_t firstLine, uint32_t lastLine);
  void recover();
  void skipBlock();
  bool hostStatementStarts() const;
  bool softKeywordStarts() const;
  void skipHostCode(Block &block);
  void skipLines();
  void skipUnread(Block &block, size_t start, size_t reported);
  void pushUnread(Block &block, size_t start, std::string why,
                  std::string hint);
  std::vector<std::string> namesBound(size_t from, size_t to) const;
  size_t endOfBlock(size_t at) const;
  void findNestedKernels(size_t from, size_t to);
  std::string dottedName(size_t at) const;
  bool isTritonJit(std::string_view written, bool nested) const;
  void noteImport(std::string alias, std::string path);
  void takeHostNames(Block &block, std::string_view word);
  bool parseClass(Block &block, bool isAggregate);
  bool takeMembers(FunctionDef &node, Block members);
  void parseInit(FunctionDef &node, const SourceRange &start);
  static bool endsWithName(const Expr *expr, std::string_view name);
  static std::string takeDocstring(Block &body);

  // Expressions.
  ExprPtr parseExpressionList(bool allowStar = false);
  ExprPtr parseExpression();
  ExprPtr parseLambda();
  ExprPtr parseOr();
  ExprPtr parseAnd();
  ExprPtr parseBoolOp(BoolOpKind op, ExprPtr (Parser::*operand)());
  ExprPtr parseNot();
  ExprPtr parseComparison();
  ExprPtr parseBinary(unsigned level);
  ExprPtr parseUnary();
  ExprPtr parsePower();
  ExprPtr parsePostfix();
  ExprPtr parseAtom();
  ExprPtr parseString();
  void parseFormatted(JoinedStr &node);
  ExprPtr parseParenthesis();
  ExprPtr parseListDisplay();
  ExprPtr parseDictDisplay();
  ExprPtr parseCall(ExprPtr function);
  ExprPtr parseSubscript(ExprPtr value);
  ExprPtr parseSubscriptItem();
  ExprPtr parseElement();
  ExprPtr parseTargetList();
  void parseClauses(Comprehension &node);
  ExprPtr finishComprehension(std::unique_ptr<Comprehension> node,
                              SourceRange start);
  bool parseCompareOp(CompareOp &op);
  bool expressionStarts() const;

  // Limits the depth of the tree, so that recursion over it does not exhaust
  // the stack. Counts nested constructs, and chains such as a+a+a+... in a
  // statement.
  struct Deeper {
    explicit Deeper(Parser &parser);
    ~Deeper() { --parser.depth; }
    Parser &parser;
  };
  void countLink();

  std::shared_ptr<const SourceFile> file;
  TokenList list;
  size_t position = 0;
  size_t nextHint = 0;
  unsigned depth = 0;
  unsigned links = 0;
  unsigned functionDepth = 0; // inside the body of a def
  bool skippedHostCode = false;
  std::set<std::string, std::less<>> hostNames; // bound by takeHostNames
  // Module-level imports: "t" is "triton" after `import triton as t`.
  std::map<std::string, std::string, std::less<>> imported;
  bool hasStarImport = false;
  Block nested;                                          // Module::nested
  std::set<std::pair<uint32_t, uint32_t>> foreignPlaces; // positions of reports
  bool runsAtCompileTime = false; // inside a constexpr_function
  // Inside a function of Python, which decorators may call: it may hold dicts.
  bool isHostFunction = false;
  bool inAggregate = false; // inside the body of a class of triton.aggregate
  std::string initSelf;     // inside `__init__`: the name of its object
};

} // namespace tessera::language
