// language/pattern/Formula.h - conditions over the positions of a tile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Affine.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::language {

enum class FormulaKind {
  True,
  False,
  Unknown, // may be either for each element
  Literal, // form <= 0
  Uniform, // equal for all elements of the tile
  And,
  Or,
};

struct Formula {
  FormulaKind kind = FormulaKind::Unknown;
  Affine form;         // of Literal
  bool strict = false; // of Literal: written with `<` or `>`
  SymbolPtr uniform;   // of Uniform
  std::vector<FormulaPtr> operands;
};

FormulaPtr truthFormula(bool value);
FormulaPtr unknownFormula();
FormulaPtr literalFormula(Affine form, bool strict);
FormulaPtr uniformFormula(SymbolPtr symbol);
// And or Or of the operands, flattened and without constants.
FormulaPtr joinFormulas(FormulaKind kind, std::vector<FormulaPtr> operands);
FormulaPtr negateFormula(const FormulaPtr &formula);

std::string formulaKey(const Formula &formula);
unsigned formulaVariables(const Formula &formula);

// A conjunction: all literals and uniform conditions hold, and an unknown
// condition as well if `unknown` is set.
struct Case {
  struct Literal {
    Affine form; // <= 0
    bool strict = false;
    // Of a consequence: the literals of the case that it is the sum of, by
    // their numbers.
    std::vector<size_t> sources = {};
  };
  std::vector<Literal> literals;
  std::vector<SymbolPtr> uniforms;
  bool unknown = false;
};

// Limit on the cases of a formula; a formula with more is not analysed.
inline constexpr size_t maxCases = 24;

// Returns the formula as a disjunction of cases; nullopt if there are more than
// maxCases.
std::optional<std::vector<Case>> casesOf(const Formula &formula);

// Adds consequences: sums of two literals in which a variable cancels. With
// them, the bounds of the literals of a case over a tile decide whether the
// tile has an element of the case, if each literal is a difference t - pos, t
// or pos, compared with a uniform value (Fourier-Motzkin elimination, which is
// exact on integers for differences). A consequence counts each literal once:
// a sum that counts one twice contains a cycle, which the case implies if it is
// possible at all. Sums with values of the run time that may not fit int32 are
// left out. Returns false if the case is impossible.
bool addConsequences(Case &one);

} // namespace tessera::language
