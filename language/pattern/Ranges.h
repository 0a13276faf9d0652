// language/pattern/Ranges.h - the positions that a tile of positions sees, or
// that see it, as bounds of a range.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Analyze.h"

#include <string>
#include <vector>

namespace tessera::language {

struct RangeText {
  // Expressions, clipped to [0, length].
  std::string first, fullFirst, fullPast, past;
  std::vector<Phrase> positive; // values that the bounds assume positive
  bool gaps = true;             // see Visibility::keyGaps
};

// Solves the formula for `solved` (Key or Query), where the writer has bounds
// of the other variables. `length` is the name of the number of positions.
RangeText rangeOf(const AnalyzedFormula &analyzed, Variables solved,
                  const std::string &length, BoundWriter &writer);

} // namespace tessera::language
