// language/pattern/Formula.cpp - negates formulas, splits them into cases and
// derives consequences.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Formula.h"

#include <algorithm>

namespace tessera::language {

static std::shared_ptr<Formula> makeFormula(FormulaKind kind) {
  auto formula = std::make_shared<Formula>();
  formula->kind = kind;
  return formula;
}

FormulaPtr truthFormula(bool value) {
  return makeFormula(value ? FormulaKind::True : FormulaKind::False);
}

FormulaPtr unknownFormula() { return makeFormula(FormulaKind::Unknown); }

FormulaPtr literalFormula(Affine form, bool strict) {
  if (isNeverNegative(scaled(form, -1)))
    return truthFormula(true);
  if (Affine less = addScaled(form, affineOf(Int(1)), -1);
      isNeverNegative(less)) // form >= 1
    return truthFormula(false);
  auto formula = makeFormula(FormulaKind::Literal);
  formula->form = std::move(form);
  formula->strict = strict;
  return formula;
}

FormulaPtr uniformFormula(SymbolPtr symbol) {
  auto formula = makeFormula(FormulaKind::Uniform);
  formula->uniform = std::move(symbol);
  return formula;
}

FormulaPtr joinFormulas(FormulaKind kind, std::vector<FormulaPtr> operands) {
  const bool isAnd = kind == FormulaKind::And;
  auto formula = makeFormula(kind);
  for (FormulaPtr &operand : operands) {
    if (operand->kind == (isAnd ? FormulaKind::False : FormulaKind::True))
      return operand;
    if (operand->kind == (isAnd ? FormulaKind::True : FormulaKind::False))
      continue;
    if (operand->kind == kind)
      formula->operands.insert(formula->operands.end(),
                               operand->operands.begin(),
                               operand->operands.end());
    else
      formula->operands.push_back(std::move(operand));
  }
  if (formula->operands.empty())
    return truthFormula(isAnd);
  if (formula->operands.size() == 1)
    return formula->operands[0];
  return formula;
}

static SymbolPtr negateSymbol(const SymbolPtr &symbol) {
  if (symbol->kind == SymbolKind::Not)
    return symbol->operands[0];
  if (symbol->kind == SymbolKind::Compare)
    return makeCompare(negated(symbol->compare), symbol->operands[0],
                       symbol->operands[1], symbol->range);
  return makeUnary(SymbolKind::Not, symbol, symbol->range);
}

FormulaPtr negateFormula(const FormulaPtr &formula) {
  switch (formula->kind) {
  case FormulaKind::True:
    return truthFormula(false);
  case FormulaKind::False:
    return truthFormula(true);
  case FormulaKind::Unknown:
    return formula;
  case FormulaKind::Literal: { // not (F <= 0) is 1 - F <= 0
    Affine form = scaled(formula->form, -1);
    form.constant += 1;
    return literalFormula(std::move(form), !formula->strict);
  }
  case FormulaKind::Uniform:
    return uniformFormula(negateSymbol(formula->uniform));
  case FormulaKind::And:
  case FormulaKind::Or: {
    std::vector<FormulaPtr> operands;
    for (const FormulaPtr &operand : formula->operands)
      operands.push_back(negateFormula(operand));
    return joinFormulas(formula->kind == FormulaKind::And ? FormulaKind::Or
                                                          : FormulaKind::And,
                        std::move(operands));
  }
  }
  return formula;
}

std::string formulaKey(const Formula &formula) {
  std::string text = std::to_string(int(formula.kind)) + "{";
  if (formula.kind == FormulaKind::Literal)
    text += formula.form.key();
  if (formula.uniform)
    text += printText(formula.uniform);
  for (const FormulaPtr &operand : formula.operands)
    text += formulaKey(*operand);
  return text + "}";
}

unsigned formulaVariables(const Formula &formula) {
  unsigned variables = formula.kind == FormulaKind::Unknown
                           ? unsigned(Query) | Key | Head
                           : formula.form.variables();
  for (const FormulaPtr &operand : formula.operands)
    variables |= formulaVariables(*operand);
  return variables;
}

// Returns the conjunction of two cases. A literal or condition of both is kept
// once.
static Case both(Case a, const Case &b) {
  a.unknown |= b.unknown;
  for (const Case::Literal &literal : b.literals)
    if (std::none_of(a.literals.begin(), a.literals.end(),
                     [&](const Case::Literal &other) {
                       return other.form.key() == literal.form.key();
                     }))
      a.literals.push_back(literal);
  for (const SymbolPtr &uniform : b.uniforms)
    if (std::none_of(a.uniforms.begin(), a.uniforms.end(),
                     [&](const SymbolPtr &other) {
                       return printText(other) == printText(uniform);
                     }))
      a.uniforms.push_back(uniform);
  return a;
}

// True if a uniform condition and its negation are in the case.
static bool isContradictory(const Case &one) {
  return std::any_of(
      one.uniforms.begin(), one.uniforms.end(), [&](const SymbolPtr &uniform) {
        const std::string opposite = printText(negateSymbol(uniform));
        return std::any_of(one.uniforms.begin(), one.uniforms.end(),
                           [&](const SymbolPtr &other) {
                             return printText(other) == opposite;
                           });
      });
}

std::optional<std::vector<Case>> casesOf(const Formula &formula) {
  switch (formula.kind) {
  case FormulaKind::True:
    return std::vector<Case>(1);
  case FormulaKind::False:
    return std::vector<Case>();
  case FormulaKind::Unknown:
    return std::vector<Case>{Case{{}, {}, true}};
  case FormulaKind::Literal:
    return std::vector<Case>{Case{{{formula.form, formula.strict}}, {}, false}};
  case FormulaKind::Uniform:
    return std::vector<Case>{Case{{}, {formula.uniform}, false}};
  case FormulaKind::And:
  case FormulaKind::Or:
    break;
  }
  const bool isAnd = formula.kind == FormulaKind::And;
  std::vector<Case> result(isAnd ? 1 : 0);
  for (const FormulaPtr &operand : formula.operands) {
    const auto more = casesOf(*operand);
    if (!more || (isAnd && result.size() * more->size() > maxCases))
      return std::nullopt;
    std::vector<Case> next = isAnd ? std::vector<Case>() : std::move(result);
    if (isAnd) {
      for (const Case &a : result)
        for (const Case &b : *more)
          if (Case joined = both(a, b); !isContradictory(joined))
            next.push_back(std::move(joined));
    } else {
      next.insert(next.end(), more->begin(), more->end());
    }
    result = std::move(next);
    if (result.size() > maxCases)
      return std::nullopt;
  }
  return result;
}

// True if a term that depends on positions is in both forms, with opposite
// factors.
static bool cancels(const Affine &a, const Affine &b) {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const Term &term) {
    return term.atom->variables != NoVariable &&
           std::any_of(b.terms.begin(), b.terms.end(), [&](const Term &other) {
             return other.factor == -term.factor &&
                    other.atom->key == term.atom->key;
           });
  });
}

// True if a literal of the case implies form <= 0.
static bool isImplied(const Case &one, const Affine &form) {
  Affine plain = form;
  plain.constant = 0;
  const std::string key = plain.key();
  return std::any_of(one.literals.begin(), one.literals.end(),
                     [&](const Case::Literal &other) {
                       Affine same = other.form;
                       same.constant = 0;
                       return same.key() == key &&
                              other.form.constant >= form.constant;
                     });
}

// True if a literal is in both lists.
static bool overlap(const std::vector<size_t> &a,
                    const std::vector<size_t> &b) {
  return std::any_of(a.begin(), a.end(), [&](size_t one) {
    return std::find(b.begin(), b.end(), one) != b.end();
  });
}

bool addConsequences(Case &one) {
  constexpr size_t maxLiterals = 16;
  for (size_t i = 0; i < one.literals.size(); ++i)
    one.literals[i].sources = {i};
  for (size_t i = 0; i < one.literals.size(); ++i)
    for (size_t j = 0; j < i && one.literals.size() < maxLiterals; ++j) {
      const Case::Literal &a = one.literals[i], &b = one.literals[j];
      if (!cancels(a.form, b.form) || overlap(a.sources, b.sources))
        continue;
      Affine sum = addScaled(a.form, b.form, 1);
      if (sum.terms.empty() && sum.constant > 0)
        return false;
      if (sum.uniformSize > largestInt32 && !sum.hasCompileTimeUniforms())
        continue;
      std::vector<size_t> sources = a.sources;
      sources.insert(sources.end(), b.sources.begin(), b.sources.end());
      // A condition on parameters alone is rarely false, so it is left out.
      if (sum.variables() != NoVariable && !isImplied(one, sum))
        one.literals.push_back({std::move(sum), false, std::move(sources)});
    }
  return true;
}

} // namespace tessera::language
