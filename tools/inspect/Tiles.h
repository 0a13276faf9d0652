// tools/inspect/Tiles.h - the layouts of a kernel's tiles, for drawings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"
#include "tools/inspect/Source.h"

#include <string>

namespace tessera::tools {

// Returns each different tile of the stage "tiles" (compiler/DescribeTiles.h)
// once, in the order of the code:
//   {"shape": [64, 32], "element": "f16", "bits": 16,
//    "bases": {"register": [[0, 1]...], "lane", "warp"} or {"offset"},
//    "uses": [["tile.dot", source row]...]}
// An index (register, lane, warp or offset) holds the element that is the XOR
// of the bases of its set bits. A zero basis means copies.
Json tilesJson(const std::string &stage, const SourceRows &source);

} // namespace tessera::tools
