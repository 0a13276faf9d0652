// language/pattern/Simplify.cpp - simplifies expressions by rules of real
// arithmetic.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Simplify.h"

#include <algorithm>
#include <optional>

namespace tessera::language {

SymbolPtr realNumber(double value) { return makeConstant(value); }

static std::optional<double> numberOf(const SymbolPtr &symbol) {
  if (symbol->kind != SymbolKind::Constant)
    return std::nullopt;
  return symbol->value.asFloat();
}

bool isNumber(const SymbolPtr &symbol, double value) {
  const auto number = numberOf(symbol);
  return number && *number == value;
}

static bool isBinary(const SymbolPtr &symbol, BinaryOp op) {
  return symbol->kind == SymbolKind::Binary && symbol->binary == op;
}

namespace {

// number * above[0] * above[1] ... / below[0] / below[1] ...
struct Fraction {
  double number = 1;
  std::vector<SymbolPtr> above, below;

  void multiply(const SymbolPtr &symbol, bool inverse = false) {
    if (const auto value = numberOf(symbol); value && (!inverse || *value)) {
      number = inverse ? number / *value : number * *value;
    } else if (isBinary(symbol, BinaryOp::Mul)) {
      multiply(symbol->operands[0], inverse);
      multiply(symbol->operands[1], inverse);
    } else if (isBinary(symbol, BinaryOp::Div)) {
      multiply(symbol->operands[0], inverse);
      multiply(symbol->operands[1], !inverse);
    } else if (symbol->kind == SymbolKind::Negate) {
      number = -number;
      multiply(symbol->operands[0], inverse);
    } else {
      add(symbol, inverse);
    }
  }

  SymbolPtr symbol() const {
    if (number == 0)
      return realNumber(0);
    SymbolPtr result;
    const double size = number < 0 ? -number : number;
    if (size != 1 || above.empty())
      result = realNumber(size);
    for (const SymbolPtr &factor : above)
      result = result ? makeBinary(BinaryOp::Mul, result, factor) : factor;
    for (const SymbolPtr &factor : below)
      result = makeBinary(BinaryOp::Div, result, factor);
    return number < 0 ? makeUnary(SymbolKind::Negate, result) : result;
  }

private:
  void add(const SymbolPtr &factor, bool inverse) {
    std::vector<SymbolPtr> &other = inverse ? above : below;
    const std::string text = printText(factor);
    const auto same =
        std::find_if(other.begin(), other.end(), [&](const SymbolPtr &one) {
          return printText(one) == text;
        });
    if (same != other.end())
      other.erase(same);
    else
      (inverse ? below : above).push_back(factor);
  }
};

} // namespace

SymbolPtr productOf(const SymbolPtr &a, const SymbolPtr &b) {
  Fraction fraction;
  fraction.multiply(a);
  fraction.multiply(b);
  return fraction.symbol();
}

SymbolPtr quotientOf(const SymbolPtr &a, const SymbolPtr &b) {
  Fraction fraction;
  fraction.multiply(a);
  fraction.multiply(b, true);
  return fraction.symbol();
}

SymbolPtr negativeOf(const SymbolPtr &a) {
  if (const auto number = numberOf(a))
    return realNumber(*number == 0 ? 0 : -*number);
  if (a->kind == SymbolKind::Negate)
    return a->operands[0];
  return makeUnary(SymbolKind::Negate, a);
}

SymbolPtr sumOf(const SymbolPtr &a, const SymbolPtr &b) {
  const auto x = numberOf(a), y = numberOf(b);
  if (x && y)
    return realNumber(*x + *y);
  if (x && *x == 0)
    return b;
  if (y && *y == 0)
    return a;
  if (b->kind == SymbolKind::Negate)
    return differenceOf(a, b->operands[0]);
  if (a->kind == SymbolKind::Negate)
    return differenceOf(b, a->operands[0]);
  if (printText(a) == printText(b))
    return productOf(realNumber(2), a);
  return makeBinary(BinaryOp::Add, a, b);
}

SymbolPtr differenceOf(const SymbolPtr &a, const SymbolPtr &b) {
  const auto x = numberOf(a), y = numberOf(b);
  if (x && y)
    return realNumber(*x - *y);
  if (x && *x == 0)
    return negativeOf(b);
  if (y && *y == 0)
    return a;
  if (b->kind == SymbolKind::Negate)
    return sumOf(a, b->operands[0]);
  if (printText(a) == printText(b))
    return realNumber(0);
  return makeBinary(BinaryOp::Sub, a, b);
}

} // namespace tessera::language
