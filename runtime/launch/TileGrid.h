// runtime/launch/TileGrid.h - the grid that a launch would have with other
// tiles.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/Describe.h"

#include <optional>
#include <string>

namespace tessera::runtime {

// A launch whose grid is known.
struct KnownLaunch {
  Grid grid = {1, 1, 1};
  // Its integers: constexprs, arguments by name, and of T, S, B and H (see
  // Sizes) what is known.
  Sizes sizes;
};

struct TileGrid {
  std::optional<Grid> grid;
  std::string why; // there is none
};

// The grid when the constexprs of `tiles` take the place of the launch's.
//
// By the hint grid(...) where that gives the launch's own grid for its own
// constexprs; H, unless it is known, is what makes it so. Else from the text,
// axis by axis: `tl.program_id(0) * BM` covers grid x BM elements, so a smaller
// BM needs more programs (at most as many as cover the last tile in full: a
// kernel leaves out what lies behind the end). An axis that no changed
// constexpr has to do with keeps its size. There is no grid where the text uses
// a program id with a changed constexpr in another way, and where a kernel also
// stores by the number of its program: such results are of another shape.
TileGrid gridWithTiles(const Description &kernel, const KnownLaunch &launch,
                       const Sizes &tiles);

} // namespace tessera::runtime
