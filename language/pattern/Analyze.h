// language/pattern/Analyze.h - the function `sees` as a formula.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Formula.h"
#include "language/pattern/Pattern.h"

#include <string>
#include <vector>

namespace tessera::language {

struct AnalyzedFormula {
  FormulaPtr formula;
  // Values that the formula assumes to be positive, such as the divisor in
  // t // block. If one is not positive, the formula is invalid.
  std::vector<Phrase> positive;
  // The result is an integer, which cannot be joined with other conditions.
  bool isInteger = false;
};

// `result` is what `sees` of the pattern returns.
AnalyzedFormula analyze(const Pattern &pattern, const SymbolPtr &result);

} // namespace tessera::language
