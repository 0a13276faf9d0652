// ptx/ParseBody.cpp - PTX function bodies: statements and operands.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Parser.h"

#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera::ptx {
namespace {

struct SpecialName {
  std::string_view name;
  Special special;
};
constexpr SpecialName SpecialNames[] = {
#define SPECIAL(enumerator, name) {name, Special::enumerator},
#include "ptx/Special.def"
};

constexpr int MaxDepth = 8;      // of operands in operands
constexpr size_t MaxScopes = 64; // of { } in { }
constexpr size_t MaxOperands = 600;

} // namespace

void Parser::openScope() {
  if (scopes.size() >= MaxScopes)
    fail("blocks nest too deeply", "64 levels are supported");
  scopes.emplace_back();
}

// Labels used here and not defined here belong to the block around.
void Parser::closeScope() {
  Scope inner = std::move(scopes.back());
  scopes.pop_back();
  for (auto &[labelName, index] : inner.labels) {
    if (fn->labels[index].target != None)
      continue;
    if (scopes.empty())
      fail("no label " + labelName, "a branch goes to a label of its function");
    auto [entry, isNew] = scopes.back().labels.emplace(labelName, index);
    if (!isNew)
      labelAliases.emplace_back(index, entry->second);
  }
}

void Parser::body() {
  expect("{", "before the body");
  openScope();
  size_t depth = scopes.size();
  while (true) {
    if (peek().kind == Token::Kind::End)
      fail("the body of " + fn->name + " has no end", "close it with }");
    if (accept("{")) {
      openScope();
      continue;
    }
    if (accept("}")) {
      bool last = scopes.size() == depth;
      if (last)
        fn->lastLine = tokens[pos - 1].line;
      closeScope();
      if (last)
        break;
      continue;
    }
    statement();
  }
  for (auto &[labelName, index] : scopes.back().labels)
    if (fn->labels[index].target == None)
      fail("no label " + labelName, "a branch goes to a label of its function");
  // An alias may itself have become an alias of a label further out.
  for (auto alias = labelAliases.rbegin(); alias != labelAliases.rend();
       ++alias)
    fn->labels[alias->first].target = fn->labels[alias->second].target;
}

uint32_t Parser::labelIndex(const std::string &labelName) {
  auto [entry, isNew] = scopes.back().labels.emplace(
      labelName, static_cast<uint32_t>(fn->labels.size()));
  if (isNew)
    fn->labels.push_back({labelName, None});
  return entry->second;
}

void Parser::label(const std::string &labelName) {
  Label &mine = fn->labels[labelIndex(labelName)];
  if (mine.target != None)
    fail("a second label " + labelName, "rename one of them");
  mine.target = static_cast<uint32_t>(fn->body.size());
}

void Parser::branchTargets(const std::string &tableName) {
  if (accept(".branchtargets")) {
    std::vector<uint32_t> table;
    do
      table.push_back(labelIndex(word("a label")));
    while (accept(","));
    expect(";", "after .branchtargets");
    auto [entry, isNew] = scopes.back().tables.emplace(
        tableName, static_cast<uint32_t>(fn->tables.size()));
    if (isNew)
      fn->tables.emplace_back();
    fn->tables[entry->second] = std::move(table);
    return;
  }
  kept(tableName,
       "calls through registers are not supported (" + tableName + ")",
       "compile with inlining, so that no function pointer is left");
  skipStatement("after " + tableName);
}

// An operand that only listings take.
Operand Parser::kept(const std::string &operandName, const std::string &what,
                     const std::string &hint) {
  if (names == Names::Declared)
    fail(what, hint);
  Operand result;
  result.kind = Operand::Kind::Name;
  result.text = operandName;
  return result;
}

void Parser::statement() {
  const Token &token = peek();
  if (token.kind == Token::Kind::Directive) {
    if (accept(".reg"))
      return registerList();
    if (sharedDirective())
      return;
    while (peek().is(".extern") || peek().is(".visible") || peek().is(".weak"))
      take();
    Space space;
    if (!spaceOf(peek(), space))
      fail("unknown directive '" + std::string(token.text) + "' in a body",
           "known: .reg .local .shared .param .global .const .loc .pragma");
    take();
    return variableList(space, false, fn->variables, true);
  }
  if (token.kind == Token::Kind::Word && peek(1).is(":")) {
    std::string labelName = word("a label");
    take();
    if (peek().is(".branchtargets") || peek().is(".calltargets") ||
        peek().is(".callprototype"))
      return branchTargets(labelName);
    return label(labelName);
  }
  if (accept(";"))
    return;
  instruction();
}

uint32_t Parser::findRegister(const std::string &registerName) const {
  size_t digits = registerName.size();
  while (digits > 0 && registerName[digits - 1] >= '0' &&
         registerName[digits - 1] <= '9')
    --digits;
  std::string prefix = registerName.substr(0, digits);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->registers.find(registerName);
    if (found != scope->registers.end())
      return found->second;
    // %r10 could also be number 0 of a range %r1, but compilers do not emit
    // that.
    auto range = scope->ranges.find(prefix);
    size_t count = registerName.size() - digits;
    if (range != scope->ranges.end() && count > 0 && count < 8) {
      uint32_t number =
          static_cast<uint32_t>(std::stoul(registerName.substr(digits)));
      if (number < range->second.count)
        return range->second.first + number;
    }
  }
  return None;
}

int64_t Parser::offset() {
  int64_t total = 0;
  while (peek().is("+") || peek().is("-")) {
    bool minus = take().is("-");
    int64_t value = signedInteger("an offset");
    total = static_cast<int64_t>(static_cast<uint64_t>(total) +
                                 (minus ? 0 - static_cast<uint64_t>(value)
                                        : static_cast<uint64_t>(value)));
  }
  return total;
}

Operand Parser::named(const std::string &operandName) {
  Operand result;
  result.text = operandName;
  if (operandName == "_")
    return result;
  if (uint32_t reg = findRegister(operandName); reg != None) {
    result.kind = Operand::Kind::Register;
    result.index = reg;
    return result;
  }
  if (operandName[0] == '%') {
    for (const SpecialName &entry : SpecialNames)
      if (entry.name == operandName) {
        result.kind = Operand::Kind::Special;
        result.index = static_cast<uint32_t>(entry.special);
        return result;
      }
    std::vector<std::string> candidates;
    for (const SpecialName &entry : SpecialNames)
      candidates.emplace_back(entry.name);
    std::string near = nearestName(operandName, candidates);
    return kept(operandName, "no register " + operandName,
                near.empty() ? "declare it with .reg"
                             : "did you mean " + near + "?");
  }
  if (operandName == "WARP_SZ") {
    result.kind = Operand::Kind::Integer;
    result.value = 32;
    return result;
  }
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->variables.find(operandName);
    if (found != scope->variables.end()) {
      result.kind = Operand::Kind::Symbol;
      result.index = found->second;
      return result;
    }
  }
  auto found = moduleVariables.find(operandName);
  if (found != moduleVariables.end()) {
    result.kind = Operand::Kind::Symbol;
    result.moduleScope = true;
    result.index = found->second;
    return result;
  }
  if (functionNames.count(operandName)) {
    result.kind = Operand::Kind::Function;
    return result;
  }
  return kept(operandName, "no register, variable or function " + operandName,
              "names are declared before their use");
}

// After the opening bracket: base, offset, and what a tensor access adds.
Operand Parser::address(int depth) {
  Operand result;
  result.kind = Operand::Kind::Address;
  result.items.push_back(operand(depth + 1));
  Operand &base = result.items[0];
  if (base.kind == Operand::Kind::Vector || base.kind == Operand::Kind::List ||
      base.kind == Operand::Kind::Address || base.negated)
    fail("an address starts with a register, a variable or a number",
         "[%rd1+16]");
  result.value = offset();
  if (base.kind == Operand::Kind::Symbol) {
    result.value += base.value;
    base.value = 0;
  }
  while (accept(","))
    result.items.push_back(operand(depth + 1));
  expect("]", "after an address");
  return result;
}

Operand Parser::operand(int depth) {
  if (depth > MaxDepth)
    fail("operands nest too deeply", "8 levels are supported");
  Operand result;
  Token token = peek();
  if (accept("{") || accept("(")) {
    bool list = token.is("(");
    result.kind = list ? Operand::Kind::List : Operand::Kind::Vector;
    const char *close = list ? ")" : "}";
    if (accept(close))
      return result;
    do {
      result.items.push_back(operand(depth + 1));
      if (result.items.size() > MaxOperands)
        fail("too many operands", "600 at most");
    } while (accept(","));
    expect(close, "after a list of operands");
    return result;
  }
  if (accept("["))
    return address(depth);
  if (accept("!")) {
    result = operand(depth + 1);
    if (result.kind != Operand::Kind::Register &&
        result.kind != Operand::Kind::Name)
      fail("'!' stands before a predicate", "!%p1");
    result.negated = !result.negated;
    return result;
  }
  if (token.is("-") || token.kind == Token::Kind::Integer) {
    if (token.is("-") && peek(1).kind != Token::Kind::Integer) {
      take();
      Token number = take();
      if (number.kind != Token::Kind::Float64)
        failAt(number.line,
               "expected a number after '-', found " + std::string(number.text),
               "-1 or -1.5");
      result.kind = Operand::Kind::Float64;
      result.value = static_cast<int64_t>(number.value ^ (1ull << 63));
      return result;
    }
    result.kind = Operand::Kind::Integer;
    result.value = signedInteger("a number");
    return result;
  }
  if (token.kind == Token::Kind::Float32 ||
      token.kind == Token::Kind::Float64) {
    result.kind = token.kind == Token::Kind::Float32 ? Operand::Kind::Float32
                                                     : Operand::Kind::Float64;
    result.value = static_cast<int64_t>(take().value);
    return result;
  }
  result = named(word("an operand"));
  if (result.kind == Operand::Kind::Symbol)
    result.value = offset();
  if (accept("|")) {
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    pair.items.push_back(std::move(result));
    pair.items.push_back(named(word("a second destination")));
    return pair;
  }
  return result;
}

Operand Parser::branchTarget() {
  Operand result;
  result.kind = Operand::Kind::Label;
  result.text = word("a label");
  result.index = labelIndex(result.text);
  return result;
}

// call{.uni} [(results),] function [, (arguments) [, prototype]]
void Parser::callOperands(Instruction &inst) {
  Operand empty;
  empty.kind = Operand::Kind::List;
  Operand results = empty, arguments = empty, callee;
  if (peek().is("(")) {
    results = operand(0);
    expect(",", "after the results of a call");
  }
  callee.kind = Operand::Kind::Function;
  callee.text = word("the function to call");
  if (callee.text[0] == '%' || !functionNames.count(callee.text))
    callee =
        kept(callee.text,
             "calls through registers are not supported (" + callee.text + ")",
             "compile with inlining, so that no function pointer is left");
  if (accept(","))
    arguments = operand(0);
  if (callee.kind == Operand::Kind::Name && accept(","))
    word("a prototype");
  inst.operands = {std::move(results), std::move(callee), std::move(arguments)};
}

void Parser::instruction() {
  Instruction inst;
  inst.line = peek().line;
  inst.location = currentLocation;
  if (accept("@")) {
    inst.predicateNegated = accept("!");
    inst.guard = word("a predicate");
    inst.predicate = findRegister(inst.guard);
    if (names == Names::Declared &&
        (inst.predicate == None || fn->registers[inst.predicate].bits != 1))
      fail(inst.guard + " is not a predicate", "declare it with .reg .pred");
  }
  inst.line = peek().line;
  inst.opcode = word("an instruction");
  bool isBranch = inst.opcode == "bra" || inst.opcode == "bra.uni";
  bool isTable = inst.opcode.rfind("brx.idx", 0) == 0;
  if (inst.opcode == "call" || inst.opcode == "call.uni") {
    callOperands(inst);
  } else if (isBranch) {
    inst.operands.push_back(branchTarget());
  } else if (!peek().is(";")) {
    do {
      if (isTable && inst.operands.size() == 1) {
        Operand table;
        table.kind = Operand::Kind::Table;
        table.text = word("a branch table");
        for (const Scope &scope : scopes)
          if (auto found = scope.tables.find(table.text);
              found != scope.tables.end())
            table.index = found->second;
        if (table.index == None)
          fail("no branch table " + table.text,
               "it stands before the branch: name: .branchtargets L0, L1;");
        inst.operands.push_back(table);
      } else {
        inst.operands.push_back(operand(0));
      }
      if (inst.operands.size() > MaxOperands)
        fail("too many operands", "600 at most");
    } while (accept(","));
  }
  // callseq ends some calls without one.
  inst.lastLine = peek().line;
  expect(";", "after an instruction");
  fn->body.push_back(std::move(inst));
}

} // namespace tessera::ptx
