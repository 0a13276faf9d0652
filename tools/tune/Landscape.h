// tools/tune/Landscape.h - collects every timed configuration and the chosen
// one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Times.h"
#include "autotune/table/TuneTable.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

// Configurations of a kernel with its types and geometry, by length.
struct Landscape {
  struct Cell {
    double us = 0;       // microseconds of a launch
    double spread = 0;   // as in TuneEntry
    std::string problem; // why it is excluded; empty: it is right
    bool chosen = false, own = false;
  };
  struct Row {
    std::string choice;                     // "BM=64 BN=32"
    std::vector<std::optional<Cell>> cells; // as `buckets`
  };

  std::string kernel; // tune::withoutLength() of its entries
  std::vector<int64_t> buckets;
  std::vector<std::string> reasons; // TuneEntry::why, as `buckets`
  std::vector<Row>
      rows; // the fastest first, by the geometric mean over lengths

  // Returns the shortest time of the correct configurations of a column, in
  // microseconds.
  double fastest(size_t column) const;
};

// Returns a landscape for each block of entries of the table, from the times of
// the same kernel text. Includes entries of the table that have no times.
std::vector<Landscape> landscapesOf(const tune::TuneTable &table,
                                    const tune::Times &times);

// Returns one HTML file that loads no other file.
std::string landscapePage(const std::string &title,
                          const tune::TuneTable &table,
                          const std::vector<Landscape> &landscapes);

// Returns tools/tune/landscape.css, embedded at build time.
std::string landscapeStyle();

} // namespace tessera::tools
