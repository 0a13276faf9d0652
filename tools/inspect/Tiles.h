// tools/inspect/Tiles.h - the layouts of a kernel's tiles, for drawing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"
#include "tools/inspect/Source.h"

#include <string>

namespace tessera::tools {

// Of the stage "tiles" (compiler/DescribeTiles.h), each different tile once, in
// the order of the code:
//   {"shape": [64, 32], "element": "f16", "bits": 16,
//    "bases": {"register": [[0, 1]...], "lane", "warp"} or {"offset"},
//    "uses": [["tile.dot", source row]...]}
// The element of a place is the XOR of the bases of the place's set bits; one
// that is all zeros makes copies.
Json tilesJson(const std::string &stage, const SourceRows &source);

} // namespace tessera::tools
