// language/pattern/Symbol.cpp - constructs and prints symbols.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Symbol.h"

#include "language/Arithmetic.h"

#include <algorithm>

namespace tessera::language {

Symbol::Symbol(SymbolKind kind, SourceRange range,
               std::vector<SymbolPtr> operands)
    : kind(kind), operands(std::move(operands)), range(range) {
  constexpr size_t most = size_t(1) << 40;
  for (const SymbolPtr &operand : this->operands) {
    size = std::min(size + operand->size, most);
    isRunTime |= operand->isRunTime;
  }
}

static std::shared_ptr<Symbol> make(SymbolKind kind, SourceRange range,
                                    std::vector<SymbolPtr> operands = {}) {
  return std::make_shared<Symbol>(kind, range, std::move(operands));
}

SymbolPtr makeName(std::string name, SourceRange range) {
  auto symbol = make(SymbolKind::Name, range);
  symbol->name = std::move(name);
  return symbol;
}

SymbolPtr makeConstant(Value value, SourceRange range) {
  auto symbol = make(SymbolKind::Constant, range);
  symbol->value = std::move(value);
  return symbol;
}

static bool isConstant(const SymbolPtr &symbol) {
  return symbol->kind == SymbolKind::Constant;
}

SymbolPtr makeRunTime(const SymbolPtr &value) {
  auto symbol = std::make_shared<Symbol>(*value);
  symbol->isRunTime = true;
  return symbol;
}

// Returns the folded constant. It is a run-time number if an operand is one.
static SymbolPtr foldedConstant(Value value, SourceRange range,
                                bool isRunTime) {
  const SymbolPtr symbol = makeConstant(std::move(value), range);
  return isRunTime ? makeRunTime(symbol) : symbol;
}

SymbolPtr makeBinary(BinaryOp op, SymbolPtr a, SymbolPtr b, SourceRange range) {
  if (isConstant(a) && isConstant(b)) {
    try {
      return foldedConstant(applyBinary(op, a->value, b->value), range,
                            a->isRunTime || b->isRunTime);
    } catch (const ValueProblem &) {
      // The compiler reports it where the function is compiled.
    }
  }
  auto symbol = make(SymbolKind::Binary, range, {std::move(a), std::move(b)});
  symbol->binary = op;
  return symbol;
}

SymbolPtr makeUnary(SymbolKind kind, SymbolPtr a, SourceRange range) {
  if (isConstant(a)) {
    const UnaryOp op = kind == SymbolKind::Negate   ? UnaryOp::Neg
                       : kind == SymbolKind::Invert ? UnaryOp::Invert
                                                    : UnaryOp::Not;
    try {
      return foldedConstant(applyUnary(op, a->value), range, a->isRunTime);
    } catch (const ValueProblem &) {
      // As above.
    }
  }
  return make(kind, range, {std::move(a)});
}

SymbolPtr makeLogic(SymbolKind kind, SymbolPtr a, SymbolPtr b,
                    SourceRange range) {
  if (isConstant(a))
    return a->value.truth() == (kind == SymbolKind::And) ? b : a;
  return make(kind, range, {std::move(a), std::move(b)});
}

SymbolPtr makeCompare(CompareOp op, SymbolPtr a, SymbolPtr b,
                      SourceRange range) {
  if (isConstant(a) && isConstant(b)) {
    try {
      return makeConstant(applyCompare(op, a->value, b->value), range);
    } catch (const ValueProblem &) {
      // As above.
    }
  }
  auto symbol = make(SymbolKind::Compare, range, {std::move(a), std::move(b)});
  symbol->compare = op;
  return symbol;
}

SymbolPtr makeCall(std::string name, std::string written,
                   std::vector<SymbolPtr> operands, SourceRange range) {
  auto symbol = make(SymbolKind::Call, range, std::move(operands));
  symbol->name = std::move(name);
  symbol->written = std::move(written);
  return symbol;
}

SymbolPtr makeCast(SymbolPtr value, std::string type, std::string written,
                   SourceRange range) {
  auto symbol = make(SymbolKind::Cast, range, {std::move(value)});
  symbol->name = std::move(type);
  symbol->written = std::move(written);
  return symbol;
}

SymbolPtr makeChoice(SymbolPtr condition, SymbolPtr a, SymbolPtr b,
                     SourceRange range) {
  return make(SymbolKind::Choice, range,
              {std::move(condition), std::move(a), std::move(b)});
}

CompareOp negated(CompareOp op) {
  switch (op) {
  case CompareOp::Eq:
    return CompareOp::Ne;
  case CompareOp::Ne:
    return CompareOp::Eq;
  case CompareOp::Lt:
    return CompareOp::Ge;
  case CompareOp::Le:
    return CompareOp::Gt;
  case CompareOp::Gt:
    return CompareOp::Le;
  case CompareOp::Ge:
    return CompareOp::Lt;
  case CompareOp::Is:
    return CompareOp::IsNot;
  case CompareOp::IsNot:
    return CompareOp::Is;
  case CompareOp::In:
    return CompareOp::NotIn;
  case CompareOp::NotIn:
    return CompareOp::In;
  }
  return op;
}

std::string Phrase::in(Binding least) const {
  return binding < least ? "(" + text + ")" : text;
}

static Binding bindingOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return Binding::Sum;
  case BinaryOp::Pow:
    return Binding::Power;
  case BinaryOp::LShift:
  case BinaryOp::RShift:
    return Binding::Shift;
  case BinaryOp::And:
    return Binding::BitAnd;
  case BinaryOp::Or:
    return Binding::BitOr;
  case BinaryOp::Xor:
    return Binding::BitXor;
  default:
    return Binding::Product;
  }
}

Phrase joinPhrases(const Phrase &a, BinaryOp op, const Phrase &b) {
  const Binding binding = bindingOf(op);
  const auto tighter = Binding(int(binding) + 1);
  // Writes `(a & b) | c`, because few readers know which binds tighter.
  if (binding >= Binding::BitOr && binding <= Binding::BitAnd)
    return {a.in(a.binding == binding ? binding : Binding::Shift) + " " +
                spelling(op) + " " + b.in(Binding::Shift),
            binding};
  // `**` is right-associative, other operators are left-associative.
  const bool isPower = op == BinaryOp::Pow;
  return {a.in(isPower ? tighter : binding) + " " + spelling(op) + " " +
              b.in(isPower ? binding : tighter),
          binding};
}

Phrase joinAll(const std::vector<Phrase> &operands, BinaryOp op) {
  Phrase result = operands.at(0);
  for (size_t i = 1; i < operands.size(); ++i)
    result = joinPhrases(result, op, operands[i]);
  return result;
}

static std::string printArguments(const Symbol &call,
                                  const SymbolNames *named) {
  const std::vector<SymbolPtr> &operands = call.operands;
  const std::vector<std::string> &keywords = call.keywords;
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    text += i ? ", " : "";
    if (i + keywords.size() >= operands.size())
      text += keywords[i + keywords.size() - operands.size()] + "=";
    text += print(*operands[i], named).text;
  }
  return text;
}

static Phrase printConstant(const Value &value) {
  Phrase phrase{value.repr()};
  if (phrase.text.starts_with("-"))
    phrase.binding = Binding::Sign;
  return phrase;
}

Phrase print(const Symbol &symbol, const SymbolNames *named) {
  if (named)
    if (const auto known = named->find(&symbol); known != named->end())
      return {known->second};
  auto operand = [&](size_t i) { return print(*symbol.operands[i], named); };
  switch (symbol.kind) {
  case SymbolKind::Name:
    return {symbol.name};
  case SymbolKind::Constant:
    return printConstant(symbol.value);
  case SymbolKind::Binary:
    return joinPhrases(operand(0), symbol.binary, operand(1));
  case SymbolKind::Negate:
    return {"-" + operand(0).in(Binding::Sign), Binding::Sign};
  case SymbolKind::Invert:
    return {"~" + operand(0).in(Binding::Sign), Binding::Sign};
  case SymbolKind::Not:
    return {"not " + operand(0).in(Binding::Not), Binding::Not};
  case SymbolKind::And:
    return {operand(0).in(Binding::And) + " and " + operand(1).in(Binding::Not),
            Binding::And};
  case SymbolKind::Or:
    return {operand(0).in(Binding::Or) + " or " + operand(1).in(Binding::And),
            Binding::Or};
  case SymbolKind::Compare:
    return {operand(0).in(Binding::BitOr) + " " + spelling(symbol.compare) +
                " " + operand(1).in(Binding::BitOr),
            Binding::Compare};
  case SymbolKind::Call:
    return {symbol.written + "(" + printArguments(symbol, named) + ")"};
  case SymbolKind::Cast:
    return {operand(0).in(Binding::Atom) + ".to(" + symbol.written + ")"};
  case SymbolKind::Choice:
    return {operand(1).in(Binding::Or) + " if " + operand(0).in(Binding::Or) +
                " else " + operand(2).in(Binding::Choice),
            Binding::Choice};
  case SymbolKind::Opaque:
    break;
  }
  return {"None"};
}

std::string printText(const SymbolPtr &symbol) { return print(*symbol).text; }

bool mentions(const Symbol &symbol, const std::vector<std::string> &names) {
  if (symbol.kind == SymbolKind::Opaque)
    return true;
  if (symbol.kind == SymbolKind::Name)
    return std::find(names.begin(), names.end(), symbol.name) != names.end();
  return std::any_of(
      symbol.operands.begin(), symbol.operands.end(),
      [&](const SymbolPtr &operand) { return mentions(*operand, names); });
}

} // namespace tessera::language
