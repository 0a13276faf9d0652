// language/pattern/RunTimeNumbers.cpp - writes truncated divisions with
// Python's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/RunTimeNumbers.h"

#include <algorithm>

namespace tessera::language {

bool hasCompileTimeText(const Symbol &symbol,
                        const std::vector<std::string> &runTime) {
  switch (symbol.kind) {
  case SymbolKind::Opaque:
  case SymbolKind::Cast:
    return false;
  case SymbolKind::Name:
    return std::find(runTime.begin(), runTime.end(), symbol.name) ==
           runTime.end();
  case SymbolKind::Call:
    if (symbol.written.starts_with("tl.") && symbol.name != "cdiv")
      return false;
    break;
  default:
    break;
  }
  return std::all_of(symbol.operands.begin(), symbol.operands.end(),
                     [&](const SymbolPtr &operand) {
                       return hasCompileTimeText(*operand, runTime);
                     });
}

bool isTruthValue(const Symbol &symbol, const std::vector<std::string> &bools) {
  size_t first = 0;
  switch (symbol.kind) {
  case SymbolKind::Compare:
  case SymbolKind::Not:
    return true;
  case SymbolKind::Constant:
    return symbol.value.is<bool>();
  case SymbolKind::Name:
    return std::find(bools.begin(), bools.end(), symbol.name) != bools.end();
  case SymbolKind::Binary:
    if (symbol.binary != BinaryOp::And && symbol.binary != BinaryOp::Or &&
        symbol.binary != BinaryOp::Xor)
      return false;
    break;
  case SymbolKind::Choice:
    first = 1;
    break;
  case SymbolKind::And:
  case SymbolKind::Or:
    break;
  default:
    return false;
  }
  return std::all_of(
      symbol.operands.begin() + ptrdiff_t(first), symbol.operands.end(),
      [&](const SymbolPtr &operand) { return isTruthValue(*operand, bools); });
}

static SymbolPtr isNegative(const SymbolPtr &a) {
  return makeCompare(CompareOp::Lt, a, makeConstant(Int(0)), a->range);
}

// Returns `a`, or `otherwise` where the condition holds. A constant condition
// is decided here.
static SymbolPtr chosen(const SymbolPtr &condition, const SymbolPtr &otherwise,
                        const SymbolPtr &a) {
  if (condition->kind == SymbolKind::Constant)
    return condition->value.truth() ? otherwise : a;
  return makeChoice(condition, otherwise, a, a->range);
}

static SymbolPtr negative(const SymbolPtr &a) {
  return makeUnary(SymbolKind::Negate, a, a->range);
}

SymbolPtr truncatedDivision(BinaryOp op, const SymbolPtr &a, const SymbolPtr &b,
                            SourceRange range) {
  auto divided = [&](const SymbolPtr &x, const SymbolPtr &y) {
    return makeBinary(op, x, y, range);
  };
  // Python rounds down: both operands become natural numbers. The quotient has
  // the sign of a * b, the remainder the sign of a.
  auto ofNatural = [&](const SymbolPtr &x) {
    const SymbolPtr other = divided(x, negative(b)), same = divided(x, b);
    return chosen(isNegative(b),
                  op == BinaryOp::FloorDiv ? negative(other) : other, same);
  };
  return makeRunTime(
      chosen(isNegative(a), negative(ofNatural(negative(a))), ofNatural(a)));
}

} // namespace tessera::language
