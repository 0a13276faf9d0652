// ptx/Parser.h - the recursive-descent parser that implements parsePtx().
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Lexer.h"
#include "ptx/Tree.h"

#include <map>
#include <string>
#include <unordered_map>

namespace tessera::ptx {

// Parses one text. Parser.cpp implements directives and declarations,
// ParseBody.cpp function bodies.
class Parser {
public:
  Parser(std::string_view text, const std::string &name, Names names);
  Module run();

private:
  // A { } block of a body. Its names hide those of outer scopes.
  struct Scope {
    struct Range {
      uint32_t first = 0, count = 0;
    };
    std::unordered_map<std::string, uint32_t> registers;
    std::unordered_map<std::string, Range> ranges; // %r<8>: prefix -> registers
    std::unordered_map<std::string, uint32_t> variables, labels, tables;
  };

  [[noreturn]] void fail(const std::string &what, const std::string &hint);
  [[noreturn]] void failAt(uint32_t line, const std::string &what,
                           const std::string &hint);
  const Token &peek(size_t ahead = 0) const;
  const Token &take();
  bool accept(std::string_view what);
  void expect(std::string_view what, const char *where);
  std::string word(const char *what);
  uint64_t integer(const char *what);
  int64_t signedInteger(const char *what);

  // Module level.
  void directive();
  bool sharedDirective();
  void skipStatement(const std::string &where);
  void header(std::string_view which);
  void file();
  void location();
  void section();
  void function(bool isEntry, bool isExtern);
  void parameterList(Function &fn, std::vector<Function::Parameter> &list);
  bool performance(Function &fn);

  // Declarations, shared by module and bodies.
  struct Declared {
    std::string_view type; // "b32"
    uint32_t bytes = 0;    // of one element
    uint32_t align = 0;    // 0: natural
    bool predicate = false;
    bool pointer = false;
  };
  Declared declaredType();
  void variableList(Space space, bool isExtern, std::vector<Variable> &into,
                    bool inBody);
  void initializer(Variable &variable, uint32_t scalarBytes, int depth);
  void initialValue(Variable &variable, uint32_t scalarBytes);
  void registerList();
  uint32_t addRegister(const Declared &type, std::string name);

  // Bodies.
  void body();
  void statement();
  void label(const std::string &name);
  void branchTargets(const std::string &name);
  void openScope();
  void closeScope();
  void instruction();
  Operand operand(int depth);
  Operand address(int depth);
  Operand named(const std::string &name);
  Operand kept(const std::string &name, const std::string &what,
               const std::string &hint);
  Operand branchTarget();
  void callOperands(Instruction &inst);
  uint32_t labelIndex(const std::string &name);
  uint32_t findRegister(const std::string &name) const;
  int64_t offset();

  std::string name;
  const Names names;
  std::vector<Token> tokens;
  size_t pos = 0;
  Module module;
  std::unordered_map<std::string, uint32_t> moduleVariables;
  std::unordered_map<std::string, uint32_t> functionNames;
  uint32_t currentLocation = None;
  uint64_t totalBytes = 0; // of initialized and declared module memory

  Function *fn = nullptr; // the function that is being parsed
  std::vector<Scope> scopes;
  std::vector<std::pair<uint32_t, uint32_t>> labelAliases;
};

// Sets the state space that a token names; returns false if it does not name
// one.
bool spaceOf(const Token &token, Space &space);

} // namespace tessera::ptx
