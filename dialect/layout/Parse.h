// dialect/layout/Parse.h - layouts written as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

// One line per constructor: "mma(m16n8, warps=2x2)" and what it is.
struct Constructor {
  const char *example, *help;
};
const std::vector<Constructor> &constructors();

// A layout of a tile of this shape. elementBits serves as the default of what
// depends on it (k_width, the swizzle). LayoutError says what is wrong with the
// text: an unknown name, an unknown option, a list of the wrong length.
LinearLayout parseLayout(const std::string &text,
                         const std::vector<int64_t> &shape, int elementBits);
// "64x128" -> {64, 128}; LayoutError naming `what`.
std::vector<int64_t> parseSizes(const std::string &text,
                                const std::string &what);

} // namespace tessera::layout
