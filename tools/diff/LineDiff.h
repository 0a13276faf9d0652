// tools/diff/LineDiff.h - computes a line-by-line difference of two texts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tools {

struct LineEdit {
  enum class Kind { Same, Removed, Added };
  Kind kind = Kind::Same;
  std::string line;
};

// %r12 is an x86 register (Named) or the twelfth value of PTX (Numbered).
enum class Registers { Named, Numbered };

struct LineDiff {
  std::vector<LineEdit> lines; // lines of both texts
  size_t removed = 0, added = 0;

  bool same() const { return removed + added == 0; }
};

// Returns the shortest edit script (Myers, "An O(ND) difference algorithm and
// its variations", 1986). Lines count as equal if they differ only in numbers
// that a compiler assigns in order: %12, .LBB0_3, !7, #map2. Beyond 4,000
// edits, the middle is returned as removed and added completely.
LineDiff diffLines(std::string_view a, std::string_view b,
                   Registers registers = Registers::Named);

// Returns the line without such numbers.
std::string withoutNumbers(std::string_view line,
                           Registers registers = Registers::Named);

// Returns changed lines with `context` lines around them, at most `limit` lines
// (0: no limit). Ends with a note if lines are omitted.
std::string renderDiff(const LineDiff &diff, size_t context, size_t limit);

} // namespace tessera::tools
