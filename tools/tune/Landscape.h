// tools/tune/Landscape.h - every configuration that was timed beside the one
// that was chosen.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Times.h"
#include "autotune/table/TuneTable.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

// The configurations of a kernel with its types and geometry, by length.
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

  // Of the right configurations of a column, in microseconds.
  double fastest(size_t column) const;
};

// For each block of entries of the table, from the times of the same kernel
// text. What the table has and the times lack is there, too.
std::vector<Landscape> landscapesOf(const tune::TuneTable &table,
                                    const tune::Times &times);

// One HTML file that loads nothing.
std::string landscapePage(const std::string &title,
                          const tune::TuneTable &table,
                          const std::vector<Landscape> &landscapes);

// Of tools/tune/landscape.css, embedded at build time.
std::string landscapeStyle();

} // namespace tessera::tools
