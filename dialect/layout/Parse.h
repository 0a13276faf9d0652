// dialect/layout/Parse.h - parses layouts written as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

// A constructor of the syntax: an example such as "mma(m16n8, warps=2x2)" and a
// line of help.
struct Constructor {
  const char *example, *help;
};
const std::vector<Constructor> &constructors();

// Returns the layout of a tile of this shape. elementBits determines the
// defaults of k_width and the swizzle. Throws LayoutError if the text has an
// unknown name or option, or a list of the wrong length.
LinearLayout parseLayout(const std::string &text,
                         const std::vector<int64_t> &shape, int elementBits);
// Parses "64x128" to {64, 128}. Throws LayoutError, which names `what`, if the
// text is malformed.
std::vector<int64_t> parseSizes(const std::string &text,
                                const std::string &what);

} // namespace tessera::layout
