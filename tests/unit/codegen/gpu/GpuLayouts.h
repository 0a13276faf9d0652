// tests/unit/codegen/gpu/GpuLayouts.h - layouts to test memory operations with.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"

#include <random>
#include <string>
#include <vector>

namespace tessera {

/// A layout of a row of elements over 4 warps.
struct RowLayout {
  std::string name;
  layout::LinearLayout layout;
  int64_t run; // neighbours in the lowest register bits

  int64_t size() const { return layout.outSize(layout::Dim::Dim0); }
  /// "#tile.linear<...>"
  std::string text() const {
    std::string result = "#tile.linear<" + std::to_string(size());
    for (layout::Dim dim :
         {layout::Dim::Register, layout::Dim::Lane, layout::Dim::Warp}) {
      result += std::string(", ") + layout::dimName(dim) + " = [";
      std::string separator;
      for (layout::Word column : layout.columns(dim)) {
        result += separator + "[" + std::to_string(column) + "]";
        separator = ", ";
      }
      result += "]";
    }
    return result + ">";
  }
};

/// Blocked layouts, fragments of tensor cores, layouts with replicas in
/// registers, lanes and warps, and some random layouts.
inline std::vector<RowLayout> rowLayouts() {
  using namespace layout;
  std::vector<RowLayout> all;
  auto add = [&](const std::string &name, LinearLayout map, int64_t run) {
    all.push_back({name, reshape(map, {int64_t(1) << map.outBits()}), run});
  };
  auto row = [](std::vector<Word> registers, std::vector<Word> lanes,
                std::vector<Word> warps, int bits) {
    Extents ins = {
        {Dim::Register, int(registers.size())}, {Dim::Lane, 5}, {Dim::Warp, 2}};
    std::vector<Word> columns = registers;
    columns.insert(columns.end(), lanes.begin(), lanes.end());
    columns.insert(columns.end(), warps.begin(), warps.end());
    return LinearLayout(ins, {{Dim::Dim0, bits}}, columns);
  };
  for (int64_t run : {1, 2, 4, 8, 16})
    add("blocked" + std::to_string(run),
        blocked({256 * run}, {{run}, {32}, {4}, {}}), run);
  add("blocked2d", blocked({16, 64}, {{2, 4}, {4, 8}, {2, 2}, {}}), 4);
  add("columns", blocked({32, 16}, {{4, 1}, {8, 4}, {1, 4}, {0, 1}}), 1);
  add("accumulator", mmaAccumulator({64, 32}, {{4, 1}}), 2);
  add("operand", mmaOperandA({32, 32}, {{2, 2}}, 2), 2);
  add("slice", slice(mmaAccumulator({64, 32}, {{2, 2}}), 1), 1);
  add("one", row({}, {0, 0, 0, 0, 0}, {0, 0}, 0), 1);
  add("lanes", row({}, {1, 2, 4, 0, 0}, {8, 16}, 5), 1);
  add("warps", row({1, 2}, {4, 8, 16, 32, 64}, {0, 128}, 8), 4);
  // The second register repeats the first; lane 4 repeats what register 2 has.
  add("registers", row({1, 0, 2}, {4, 8, 2, 16, 32}, {64, 3}, 7), 1);
  std::mt19937 random(7);
  for (int n = 0; n < 4; ++n) {
    std::vector<Word> columns;
    do {
      columns.clear();
      for (int bit = 0; bit < 10; ++bit)
        columns.push_back(random() % 4 ? random() % 256 : 0);
    } while (rankOf(columns) < 8);
    add("random" + std::to_string(n),
        row({columns[0], columns[1], columns[2]},
            {columns[3], columns[4], columns[5], columns[6], columns[7]},
            {columns[8], columns[9]}, 8),
        1);
  }
  return all;
}

} // namespace tessera
