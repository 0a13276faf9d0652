// language/pattern/Differentiate.cpp - the rules of differentiation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Differentiate.h"

#include "language/pattern/Simplify.h"
#include "support/Error.h"

#include <numbers>

namespace tessera::language {

// Returns where(condition, a, b).
static SymbolPtr choose(SymbolPtr condition, SymbolPtr a, SymbolPtr b) {
  if (printText(a) == printText(b))
    return a;
  return makeCall("where", "tl.where",
                  {std::move(condition), std::move(a), std::move(b)});
}

// Returns a function of the same library: tl.cos for tl.sin.
static SymbolPtr sibling(const Symbol &call, const std::string &name) {
  const size_t dot = call.written.rfind('.');
  return makeCall(
      name,
      dot == std::string::npos ? name : call.written.substr(0, dot + 1) + name,
      call.operands);
}

SymbolPtr Differentiator::derivative(const SymbolPtr &symbol) {
  const auto known = results.find(symbol.get());
  if (known != results.end())
    return known->second;
  SymbolPtr result =
      mentions(*symbol, {variable}) ? ofVarying(symbol) : realNumber(0);
  constexpr size_t maxSize = 5000;
  if (result->size > maxSize)
    fail(*symbol);
  results[symbol.get()] = result;
  return result;
}

void Differentiator::fail(const Symbol &symbol) const {
  throw CompileError({Diagnostic::make(
      DiagnosticId::UnsupportedSyntax, function.file, symbol.range,
      "`" + print(symbol).text + "` of `" + function.name +
          "` cannot be differentiated by `" + variable + "`",
      remedy)});
}

SymbolPtr Differentiator::ofVarying(const SymbolPtr &symbol) {
  const auto &operands = symbol->operands;
  switch (symbol->kind) {
  case SymbolKind::Name:
    return realNumber(1);
  case SymbolKind::Binary:
    return ofBinary(*symbol);
  case SymbolKind::Negate:
    return negativeOf(derivative(operands[0]));
  case SymbolKind::Compare: // constant but for jumps
  case SymbolKind::Not:
  case SymbolKind::And:
  case SymbolKind::Or:
    return realNumber(0);
  case SymbolKind::Cast:
    if (!symbol->name.starts_with("fp") && symbol->name != "bf16")
      fail(*symbol);
    return derivative(operands[0]);
  case SymbolKind::Choice: {
    const SymbolPtr a = derivative(operands[1]), b = derivative(operands[2]);
    return printText(a) == printText(b) ? a : makeChoice(operands[0], a, b);
  }
  case SymbolKind::Call:
    return ofCall(*symbol);
  default:
    fail(*symbol);
  }
}

SymbolPtr Differentiator::ofBinary(const Symbol &symbol) {
  const SymbolPtr &a = symbol.operands[0], &b = symbol.operands[1];
  switch (symbol.binary) {
  case BinaryOp::Add:
    return sumOf(derivative(a), derivative(b));
  case BinaryOp::Sub:
    return differenceOf(derivative(a), derivative(b));
  case BinaryOp::Mul:
    return sumOf(productOf(derivative(a), b), productOf(a, derivative(b)));
  case BinaryOp::Div: { // a' / b - a b' / b^2
    const SymbolPtr db = derivative(b);
    const SymbolPtr first = quotientOf(derivative(a), b);
    if (isNumber(db, 0))
      return first;
    return differenceOf(first, quotientOf(quotientOf(productOf(a, db), b), b));
  }
  default:
    fail(symbol);
  }
}

SymbolPtr Differentiator::ofCall(const Symbol &call) {
  const std::string &name = call.name;
  const auto &operands = call.operands;
  if (name == "where" && operands.size() == 3)
    return choose(operands[0], derivative(operands[1]),
                  derivative(operands[2]));
  const bool isMinimum = name == "minimum" || name == "min";
  if ((isMinimum || name == "maximum" || name == "max") && operands.size() == 2)
    return choose(makeCompare(isMinimum ? CompareOp::Lt : CompareOp::Gt,
                              operands[0], operands[1]),
                  derivative(operands[0]), derivative(operands[1]));
  if (operands.size() != 1)
    fail(call);
  const SymbolPtr &x = operands[0];
  const SymbolPtr dx = derivative(x);
  const auto y = std::make_shared<Symbol>(call);
  if (name == "abs")
    return choose(makeCompare(CompareOp::Ge, x, realNumber(0)), dx,
                  negativeOf(dx));
  if (name == "floor" || name == "ceil")
    return realNumber(0);
  return productOf(slope(call, y, x), dx);
}

// Returns the derivative of y = f(x) by x.
SymbolPtr Differentiator::slope(const Symbol &call, const SymbolPtr &y,
                                const SymbolPtr &x) {
  const std::string &name = call.name;
  const SymbolPtr one = realNumber(1);
  if (name == "exp")
    return y;
  if (name == "exp2")
    return productOf(realNumber(std::numbers::ln2), y);
  if (name == "log")
    return quotientOf(one, x);
  if (name == "log2")
    return quotientOf(realNumber(std::numbers::log2e), x);
  if (name == "sqrt")
    return quotientOf(realNumber(0.5), y);
  if (name == "rsqrt")
    return productOf(realNumber(-0.5), productOf(y, productOf(y, y)));
  if (name == "sin")
    return sibling(call, "cos");
  if (name == "cos")
    return negativeOf(sibling(call, "sin"));
  if (name == "sigmoid")
    return productOf(y, differenceOf(one, y));
  if (name == "tanh")
    return differenceOf(one, productOf(y, y));
  fail(call);
}

} // namespace tessera::language
