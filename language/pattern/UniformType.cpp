// language/pattern/UniformType.cpp - the types of parameters, constants and
// their expressions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/UniformType.h"

#include "language/pattern/Straighten.h"

namespace tessera::language {

std::vector<std::string> boolParameters(const Pattern &pattern) {
  std::vector<std::string> names;
  for (const PatternParameter &parameter : pattern.parameters)
    if (parameter.defaultValue.is<bool>())
      names.push_back(parameter.name);
  return names;
}

bool isWideInteger(const std::string &type) {
  return type == "i32" || type == "i64";
}
bool isMinimum(const Symbol &symbol) {
  return (symbol.name == "minimum" || symbol.name == "min") &&
         symbol.operands.size() == 2;
}
bool isMaximum(const Symbol &symbol) {
  return (symbol.name == "maximum" || symbol.name == "max") &&
         symbol.operands.size() == 2;
}

namespace {

UniformType typeOfValue(const Value &value) {
  if (value.is<bool>())
    return UniformType::Truth;
  return value.is<Int>() ? UniformType::Integer : UniformType::Other;
}

class Types {
public:
  explicit Types(const Pattern &pattern) : pattern(pattern) {}

  // Returns the type of a uniform symbol.
  UniformType of(const Symbol &symbol) const {
    switch (symbol.kind) {
    case SymbolKind::Name:
      return typeOfName(symbol.name);
    case SymbolKind::Constant:
      return typeOfValue(symbol.value);
    case SymbolKind::Compare:
    case SymbolKind::Not:
      return UniformType::Truth;
    case SymbolKind::And:
    case SymbolKind::Or: {
      // `a and b` of integers is an integer.
      const UniformType type = joinTypes(symbol, 0);
      return type == UniformType::Truth ? type : UniformType::Other;
    }
    case SymbolKind::Binary:
      if (symbol.binary == BinaryOp::Div || isFractionalPower(symbol))
        return UniformType::Other;
      // True + True is an integer; True & True is not.
      if ((symbol.binary == BinaryOp::And || symbol.binary == BinaryOp::Or ||
           symbol.binary == BinaryOp::Xor) &&
          joinTypes(symbol, 0) == UniformType::Truth)
        return UniformType::Truth;
      [[fallthrough]];
    case SymbolKind::Invert:
      // A run-time bool; Straighten.cpp rejects others.
      if (joinTypes(symbol, 0) == UniformType::Truth)
        return UniformType::Truth;
      [[fallthrough]];
    case SymbolKind::Negate:
      return joinTypes(symbol, 0) == UniformType::Other ? UniformType::Other
                                                        : UniformType::Integer;
    case SymbolKind::Choice:
      return joinTypes(symbol, 1);
    case SymbolKind::Call:
      if (symbol.name == "where" && symbol.operands.size() == 3)
        return joinTypes(symbol, 1);
      if (isMinimum(symbol) || isMaximum(symbol) ||
          ((symbol.name == "abs" || symbol.name == "cdiv") &&
           !symbol.operands.empty()))
        return joinTypes(symbol, 0);
      return symbol.name == "int" || symbol.name == "next_power_of_2"
                 ? UniformType::Integer
                 : UniformType::Other;
    case SymbolKind::Cast:
      return isWideInteger(symbol.name) &&
                     joinTypes(symbol, 0) != UniformType::Other
                 ? UniformType::Integer
                 : UniformType::Other;
    case SymbolKind::Opaque:
      break;
    }
    return UniformType::Other;
  }

private:
  // 2 ** n is an integer if n is not negative.
  static bool isFractionalPower(const Symbol &symbol) {
    const Symbol &exponent = *symbol.operands[1];
    return symbol.binary == BinaryOp::Pow &&
           (exponent.kind != SymbolKind::Constant ||
            exponent.value.asInt().value_or(-1) < 0);
  }

  // Returns the common type of the operands from `first` on.
  UniformType joinTypes(const Symbol &symbol, size_t first) const {
    UniformType type = of(*symbol.operands.at(first));
    for (size_t i = first + 1; i < symbol.operands.size(); ++i)
      if (const UniformType other = of(*symbol.operands[i]); other != type)
        type = other == UniformType::Other || type == UniformType::Other
                   ? UniformType::Other
                   : UniformType::Integer;
    return type;
  }

  UniformType typeOfName(const std::string &name) const {
    if (const PatternParameter *parameter = pattern.findParameter(name))
      return typeOfValue(parameter->defaultValue);
    if (const PerSequence *value = pattern.findPerSequence(name))
      return value->type.starts_with("i") ? UniformType::Integer
                                          : UniformType::Other;
    const Expr *constant = moduleConstant(*pattern.module, name);
    if (const auto *literal = constant ? constant->as<Constant>() : nullptr)
      return typeOfValue(literal->value);
    // `BLOCK = 4 * 16`: an expression of integer literals alone is an integer.
    return constant && isIntegerExpression(*constant) ? UniformType::Integer
                                                      : UniformType::Other;
  }

  static bool isIntegerExpression(const Expr &expr) {
    if (const auto *literal = expr.as<Constant>())
      return literal->value.is<Int>();
    if (const auto *wrapped = expr.as<Call>()) // tl.constexpr(64)
      return wrapped->arguments.size() == 1 &&
             dump(*wrapped->function).ends_with("constexpr") &&
             isIntegerExpression(*wrapped->arguments[0]);
    const auto *binary = expr.as<BinOp>();
    return binary && binary->op != BinaryOp::Div &&
           binary->op != BinaryOp::Pow && isIntegerExpression(*binary->left) &&
           isIntegerExpression(*binary->right);
  }

  const Pattern &pattern;
};

} // namespace

UniformType typeOfUniform(const Pattern &pattern, const Symbol &symbol) {
  return Types(pattern).of(symbol);
}

} // namespace tessera::language
