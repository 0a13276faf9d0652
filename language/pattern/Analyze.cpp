// language/pattern/Analyze.cpp - converts symbols to forms and formulas.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Analyze.h"

#include "language/pattern/RunTimeNumbers.h"
#include "language/pattern/Straighten.h"
#include "language/pattern/UniformType.h"

#include <algorithm>

namespace tessera::language {

namespace {

// A value of a tile: an integer, a truth value or unknown.
struct Quantity {
  enum class Kind { Integer, Truth, Unknown } kind = Kind::Unknown;
  Affine form;
  FormulaPtr truth;

  bool isInteger() const { return kind == Kind::Integer; }
  bool isTruth() const { return kind == Kind::Truth; }
};

// Larger numbers are not analysed, so that all results fit into Int.
constexpr Int mostNumber = Int(1) << 60;

bool isSmall(const Affine &form) {
  auto isBetween = [](Int value) {
    return -mostNumber <= value && value <= mostNumber;
  };
  return isBetween(form.constant) &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const Term &term) { return isBetween(term.factor); });
}

Quantity integer(Affine form) {
  if (!isSmall(form))
    return {};
  return {Quantity::Kind::Integer, std::move(form), nullptr};
}
Quantity truth(FormulaPtr formula) {
  return {Quantity::Kind::Truth, {}, std::move(formula)};
}

// Limit on the expansions of min, max and where into cases, for one comparison.
constexpr unsigned maxExpansions = 4;

class Analyzer {
public:
  explicit Analyzer(const Pattern &pattern) : pattern(pattern) {}

  AnalyzedFormula run(const SymbolPtr &result) {
    const Quantity value = quantity(result);
    return {condition(value), std::move(positive), value.isInteger()};
  }

private:
  static bool isUniform(const Symbol &symbol) {
    static const std::vector<std::string> variables = {"t", "pos", "head"};
    return !mentions(symbol, variables);
  }

  static FormulaPtr condition(const Quantity &value) {
    if (value.isTruth())
      return value.truth;
    if (value.isInteger())
      return joinFormulas(FormulaKind::Or,
                          {below(value.form), below(scaled(value.form, -1))});
    return unknownFormula();
  }

  // form < 0, form <= 0
  static FormulaPtr below(Affine form) {
    form.constant += 1;
    return expanded(form, true, 0);
  }
  static FormulaPtr atMost(const Affine &form) {
    return expanded(form, false, 0);
  }

  // Returns form <= 0 with the first min, max or choice resolved into cases:
  // min(a, b) <= 0 is a <= 0 or b <= 0.
  static FormulaPtr expanded(const Affine &form, bool strict, unsigned depth) {
    auto splits = [](const Term &term) {
      return term.atom->kind == AtomKind::Minimum ||
             term.atom->kind == AtomKind::Maximum ||
             term.atom->kind == AtomKind::Choice;
    };
    const auto term =
        std::find_if(form.terms.begin(), form.terms.end(), splits);
    if (term == form.terms.end() || depth == maxExpansions)
      return literalFormula(form, strict);
    const Atom &atom = *term->atom;
    FormulaPtr a =
        expanded(replaced(form, *term, atom.operands[0]), strict, depth + 1);
    FormulaPtr b =
        expanded(replaced(form, *term, atom.operands[1]), strict, depth + 1);
    if (atom.kind == AtomKind::Choice)
      return choose(atom.condition, std::move(a), std::move(b));
    const bool either = (atom.kind == AtomKind::Minimum) == (term->factor > 0);
    return joinFormulas(either ? FormulaKind::Or : FormulaKind::And,
                        {std::move(a), std::move(b)});
  }

  static FormulaPtr choose(const FormulaPtr &condition, FormulaPtr a,
                           FormulaPtr b) {
    return joinFormulas(
        FormulaKind::Or,
        {joinFormulas(FormulaKind::And, {condition, std::move(a)}),
         joinFormulas(FormulaKind::And,
                      {negateFormula(condition), std::move(b)})});
  }

  static FormulaPtr differs(const FormulaPtr &a, const FormulaPtr &b) {
    return choose(a, negateFormula(b), b);
  }

  Quantity quantity(const SymbolPtr &symbol) {
    if (symbol->kind != SymbolKind::Opaque && isUniform(*symbol)) {
      const UniformType type = typeOfUniform(pattern, *symbol);
      if (type == UniformType::Integer)
        return integer(uniformForm(symbol));
      return type == UniformType::Truth ? truth(uniformTruth(symbol))
                                        : Quantity();
    }
    switch (symbol->kind) {
    case SymbolKind::Name:
      return integer(affineOf(variableAtom(symbol->name == "t"     ? Query
                                           : symbol->name == "pos" ? Key
                                                                   : Head)));
    case SymbolKind::Binary:
      return binary(*symbol);
    case SymbolKind::Negate: {
      const Quantity a = quantity(symbol->operands[0]);
      return a.isInteger() ? integer(scaled(a.form, -1)) : Quantity();
    }
    case SymbolKind::Invert: {
      const Quantity a = quantity(symbol->operands[0]);
      if (a.isTruth())
        return truth(negateFormula(a.truth));
      return a.isInteger() ? integer(addScaled(affineOf(Int(-1)), a.form, -1))
                           : Quantity();
    }
    case SymbolKind::Not:
      return truth(negateFormula(condition(quantity(symbol->operands[0]))));
    case SymbolKind::And:
    case SymbolKind::Or:
      return truth(joinFormulas(
          symbol->kind == SymbolKind::And ? FormulaKind::And : FormulaKind::Or,
          {condition(quantity(symbol->operands[0])),
           condition(quantity(symbol->operands[1]))}));
    case SymbolKind::Compare:
      return truth(comparison(*symbol));
    case SymbolKind::Call:
      return call(*symbol);
    case SymbolKind::Cast: {
      const Quantity a = quantity(symbol->operands[0]);
      const bool keeps =
          a.isInteger() ? isWideInteger(symbol->name) : symbol->name == "i1";
      return keeps ? a : Quantity();
    }
    case SymbolKind::Choice:
      return choice(symbol->operands);
    default:
      return {};
    }
  }

  // Returns a sum of uniform texts: `window - 1` is window with the constant
  // -1.
  Affine uniformForm(const SymbolPtr &symbol) const {
    if (symbol->kind == SymbolKind::Constant)
      return affineOf(*symbol->value.asInt());
    if (symbol->kind == SymbolKind::Negate)
      return scaled(uniformForm(symbol->operands[0]), -1);
    Affine form = uniformSum(symbol);
    // The kernel computes the sum, too.
    form.uniformSize = std::min(form.uniformSize, largestInt32);
    return isSmall(form) ? form : affineOf(atomOf(*symbol));
  }

  AtomPtr atomOf(const Symbol &uniform) const {
    std::vector<std::string> runTime;
    for (const PerSequence &value : pattern.perSequence)
      runTime.push_back(value.name);
    for (const Parameter &parameter : pattern.sees->parameters)
      if (!parameter.isConstexpr)
        runTime.push_back(parameter.name);
    Int size = largestInt32;
    if (uniform.kind == SymbolKind::Name) {
      size = parameterSize;
      const Expr *constant = moduleConstant(*pattern.module, uniform.name);
      if (const auto *wrapped = constant ? constant->as<Call>() : nullptr;
          wrapped && wrapped->arguments.size() == 1) // tl.constexpr(64)
        constant = wrapped->arguments[0].get();
      if (const auto *literal = constant ? constant->as<Constant>() : nullptr)
        size = magnitude(literal->value.asInt().value_or(largestInt32));
    }
    return uniformAtom(print(uniform), size,
                       hasCompileTimeText(uniform, runTime));
  }

  Affine uniformSum(const SymbolPtr &symbol) const {
    if (symbol->kind == SymbolKind::Binary) {
      const SymbolPtr &a = symbol->operands[0], &b = symbol->operands[1];
      if (symbol->binary == BinaryOp::Add)
        return addScaled(uniformForm(a), uniformForm(b), 1);
      if (symbol->binary == BinaryOp::Sub)
        return addScaled(uniformForm(a), uniformForm(b), -1);
      if (symbol->binary == BinaryOp::Mul)
        for (bool first : {true, false})
          if (const Symbol &factor = first ? *a : *b;
              factor.kind == SymbolKind::Constant)
            return scaled(uniformForm(first ? b : a), *factor.value.asInt());
    }
    return affineOf(atomOf(*symbol));
  }

  FormulaPtr uniformTruth(const SymbolPtr &symbol) const {
    if (symbol->kind == SymbolKind::Constant)
      return truthFormula(symbol->value.truth());
    if ((symbol->kind == SymbolKind::Not ||
         symbol->kind == SymbolKind::Invert) &&
        typeOfUniform(pattern, *symbol->operands[0]) == UniformType::Truth)
      return negateFormula(uniformTruth(symbol->operands[0]));
    const bool isAnd =
        symbol->kind == SymbolKind::And ||
        (symbol->kind == SymbolKind::Binary && symbol->binary == BinaryOp::And);
    const bool isOr =
        symbol->kind == SymbolKind::Or ||
        (symbol->kind == SymbolKind::Binary && symbol->binary == BinaryOp::Or);
    if (isAnd || isOr)
      return joinFormulas(isAnd ? FormulaKind::And : FormulaKind::Or,
                          {uniformTruth(symbol->operands[0]),
                           uniformTruth(symbol->operands[1])});
    return uniformFormula(symbol);
  }

  Quantity binary(const Symbol &symbol) {
    const Quantity a = quantity(symbol.operands[0]);
    const Quantity b = quantity(symbol.operands[1]);
    if (a.isTruth() && b.isTruth()) {
      if (symbol.binary == BinaryOp::Xor)
        return truth(differs(a.truth, b.truth));
      if (symbol.binary == BinaryOp::And || symbol.binary == BinaryOp::Or)
        return truth(joinFormulas(
            symbol.binary == BinaryOp::And ? FormulaKind::And : FormulaKind::Or,
            {a.truth, b.truth}));
      return {};
    }
    if (!a.isInteger() || !b.isInteger())
      return {};
    switch (symbol.binary) {
    case BinaryOp::Add:
      return integer(addScaled(a.form, b.form, 1));
    case BinaryOp::Sub:
      return integer(addScaled(a.form, b.form, -1));
    case BinaryOp::Mul:
      return integer(product(a.form, b.form));
    case BinaryOp::FloorDiv:
      return divided(AtomKind::Quotient, a.form, symbol.operands[1]);
    case BinaryOp::Mod:
      return divided(AtomKind::Remainder, a.form, symbol.operands[1]);
    default:
      return bits(symbol.binary, a.form, b.form);
    }
  }

  static bool isUniformForm(const Affine &form) {
    return std::all_of(
        form.terms.begin(), form.terms.end(),
        [](const Term &term) { return term.atom->kind == AtomKind::Uniform; });
  }

  static Affine product(const Affine &a, const Affine &b) {
    if (a.terms.empty())
      return scaled(b, a.constant);
    if (b.terms.empty())
      return scaled(a, b.constant);
    for (bool first : {true, false}) {
      const Affine &factor = first ? a : b, &other = first ? b : a;
      if (!isUniformForm(factor))
        continue;
      std::vector<std::string> helpers; // a uniform form needs none
      BoundWriter writer({}, {}, helpers);
      return affineOf(
          makeAtom(AtomKind::Scaled, {other}, writer.bound(factor, false)));
    }
    return affineOf(makeAtom(AtomKind::Product, {a, b}));
  }

  // Analyses form // divisor or form % divisor.
  Quantity divided(AtomKind kind, const Affine &form,
                   const SymbolPtr &divisor) {
    // A constant form (`t - t - 5`) would be divided as Python divides.
    if (!isUniform(*divisor) || form.variables() == NoVariable)
      return {};
    if (divisor->kind == SymbolKind::Constant) {
      if (*divisor->value.asInt() <= 0)
        return {};
    } else {
      requirePositive(print(*divisor));
    }
    return integer(affineOf(makeAtom(kind, {form}, print(*divisor))));
  }

  void requirePositive(Phrase value) {
    if (std::none_of(
            positive.begin(), positive.end(),
            [&](const Phrase &other) { return other.text == value.text; }))
      positive.push_back(std::move(value));
  }

  // Analyses shifts and masks by constants, which are divisions of natural
  // numbers.
  static Quantity bits(BinaryOp op, const Affine &a, const Affine &b) {
    const bool swapped = op == BinaryOp::And && a.terms.empty();
    const Affine &form = swapped ? b : a, &number = swapped ? a : b;
    if (!number.terms.empty() || number.constant < 0)
      return {};
    const Int n = number.constant;
    constexpr Int mostBits = 30;
    if (op == BinaryOp::LShift && n <= mostBits)
      return integer(scaled(form, Int(1) << n));
    if (!isNeverNegative(form))
      return {};
    if (op == BinaryOp::RShift && n <= mostBits)
      return integer(affineOf(
          makeAtom(AtomKind::Quotient, {form}, {printInt(Int(1) << n)})));
    if (op == BinaryOp::And && (n & (n + 1)) == 0 && n < (Int(1) << mostBits))
      return integer(
          affineOf(makeAtom(AtomKind::Remainder, {form}, {printInt(n + 1)})));
    return {};
  }

  FormulaPtr comparison(const Symbol &symbol) {
    const Quantity a = quantity(symbol.operands[0]);
    const Quantity b = quantity(symbol.operands[1]);
    const bool isEqual = symbol.compare == CompareOp::Eq;
    if (a.isTruth() && b.isTruth() &&
        (isEqual || symbol.compare == CompareOp::Ne)) {
      FormulaPtr formula = differs(a.truth, b.truth);
      return isEqual ? negateFormula(formula) : formula;
    }
    if (!a.isInteger() || !b.isInteger())
      return unknownFormula();
    const Affine forward = addScaled(a.form, b.form, -1);
    const Affine backward = scaled(forward, -1);
    switch (symbol.compare) {
    case CompareOp::Lt:
      return below(forward);
    case CompareOp::Le:
      return atMost(forward);
    case CompareOp::Gt:
      return below(backward);
    case CompareOp::Ge:
      return atMost(backward);
    case CompareOp::Eq:
      return joinFormulas(FormulaKind::And,
                          {atMost(forward), atMost(backward)});
    case CompareOp::Ne:
      return joinFormulas(FormulaKind::Or, {below(forward), below(backward)});
    default:
      return unknownFormula();
    }
  }

  Quantity call(const Symbol &symbol) {
    if (symbol.name == "where" && symbol.operands.size() == 3)
      return choice(symbol.operands);
    std::vector<Affine> forms;
    for (const SymbolPtr &operand : symbol.operands) {
      Quantity value = quantity(operand);
      if (!value.isInteger())
        return {};
      forms.push_back(std::move(value.form));
    }
    if (isMinimum(symbol) || isMaximum(symbol))
      return integer(affineOf(
          makeAtom(isMinimum(symbol) ? AtomKind::Minimum : AtomKind::Maximum,
                   std::move(forms))));
    if (symbol.name == "abs" && forms.size() == 1)
      return integer(affineOf(
          makeAtom(AtomKind::Maximum, {forms[0], scaled(forms[0], -1)})));
    if (symbol.name == "cdiv" && forms.size() == 2) {
      Affine up = addScaled(forms[0], forms[1], 1);
      up.constant -= 1;
      return divided(AtomKind::Quotient, up, symbol.operands[1]);
    }
    return {};
  }

  // Analyses where(condition, a, b).
  Quantity choice(const std::vector<SymbolPtr> &operands) {
    const FormulaPtr which = condition(quantity(operands[0]));
    const Quantity a = quantity(operands[1]), b = quantity(operands[2]);
    if (a.isTruth() && b.isTruth())
      return truth(choose(which, a.truth, b.truth));
    if (!a.isInteger() || !b.isInteger())
      return {};
    return integer(
        affineOf(makeAtom(AtomKind::Choice, {a.form, b.form}, {}, which)));
  }

  const Pattern &pattern;
  std::vector<Phrase> positive;
};

} // namespace

AnalyzedFormula analyze(const Pattern &pattern, const SymbolPtr &result) {
  return Analyzer(pattern).run(result);
}

} // namespace tessera::language
