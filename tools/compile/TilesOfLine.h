// tools/compile/TilesOfLine.h - finds the GPU layouts of the tiles on a
// kernel's line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/compile/Jobs.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tools {

struct TileOfLine {
  std::string title;  // "matmul.py:18  tile.dot: 32x32 f32"
  std::string layout; // for layout::parseLayout
  std::vector<int64_t> shape;
  int bits; // of an element
};

// Splits "k.py:18" into file and line. Returns nullopt if the text does not
// name a Python file.
std::optional<std::pair<std::string, uint32_t>>
fileAndLine(const std::string &text);

// The tiles of one compiled kernel.
struct KernelTiles {
  std::string file; // "matmul.py"
  std::string job;  // its name, for titles
  std::string text; // of the stage "tiles"
};

// Compiles the first kernel that `options` selects. Throws Error.
KernelTiles loadTiles(const JobOptions &options);

// Returns the different tiles of a line, which may belong to a helper; empty if
// the line does not have tiles. `lines` receives all lines with tiles.
std::vector<TileOfLine> tilesOfLine(const KernelTiles &kernel, uint32_t line,
                                    std::set<uint32_t> &lines);

// Compiles the first kernel that `options` selects and returns the different
// tiles of the line, which may belong to a helper. Throws Error, with the
// nearest lines with tiles, if the line does not have any.
std::vector<TileOfLine> tilesOfLine(const JobOptions &options, uint32_t line);

} // namespace tessera::tools
