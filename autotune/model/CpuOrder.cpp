// autotune/model/CpuOrder.cpp - orders candidate tiles for a CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuOrder.h"

#include <algorithm>
#include <cmath>

namespace tessera::tune {

double cpuElementCost(const std::vector<int64_t> &tiles) {
  constexpr double rowElements = 32, fits = 256, perDoubling = 0.3, perTile = 8;
  double elements = tiles.size() == 1 ? rowElements : 1;
  for (const int64_t tile : tiles)
    elements *= double(std::max<int64_t>(tile, 1));
  return 1 + perTile / elements +
         perDoubling * std::max(0.0, std::log2(elements / fits));
}

double cpuElementCost(const TuneChoice &choice) {
  std::vector<int64_t> tiles;
  for (const auto &[name, value] : choice.constexprs)
    if (const auto *number = std::get_if<int64_t>(&value))
      tiles.push_back(*number);
  return cpuElementCost(tiles);
}

} // namespace tessera::tune
