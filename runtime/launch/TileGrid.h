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
  // Known integers: constexprs, arguments by name, and those of T, S, B and H
  // (see Sizes) that are known.
  Sizes sizes;
};

struct TileGrid {
  std::optional<Grid> grid;
  std::string why; // the grid is unknown
};

// Returns the grid if the constexprs of `tiles` replace those of the launch.
//
// Uses the hint grid(...) if it reproduces the launch's grid from the launch's
// constexprs; an unknown H is solved for. Otherwise analyzes the text per axis:
// `tl.program_id(0) * BM` covers grid x BM elements, so a smaller BM needs more
// programs. (At most as many as cover the last tile in full: kernels mask
// elements after the end.) An axis that does not depend on a changed constexpr
// keeps its size. The grid is unknown if the text combines a program id with a
// changed constexpr in another way, or if the kernel also stores at an offset
// computed from its program id alone, because the result's shape then depends
// on the grid.
TileGrid gridWithTiles(const Description &kernel, const KnownLaunch &launch,
                       const Sizes &tiles);

} // namespace tessera::runtime
