// tools/diff/LineDiff.h - a line-by-line difference of two texts.
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

// %r12 is a register of x86 (Named) or the twelfth value of PTX (Numbered).
enum class Registers { Named, Numbered };

struct LineDiff {
  std::vector<LineEdit> lines; // all of both texts
  size_t removed = 0, added = 0;

  bool same() const { return removed + added == 0; }
};

// The shortest edit script (Myers, "An O(ND) difference algorithm and its
// variations", 1986). Lines count as equal when they are so but for numbers
// that a compiler hands out in order: %12, .LBB0_3, !7, #map2. Beyond 4,000
// edits the middle is given as removed and added whole.
LineDiff diffLines(std::string_view a, std::string_view b,
                   Registers registers = Registers::Named);

// The line with such numbers left out.
std::string withoutNumbers(std::string_view line,
                           Registers registers = Registers::Named);

// Changed lines with `context` lines around them, at most `limit` lines (0: all
// of them); ends with a note when there are more.
std::string renderDiff(const LineDiff &diff, size_t context, size_t limit);

} // namespace tessera::tools
