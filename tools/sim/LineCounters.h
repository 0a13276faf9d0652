// tools/sim/LineCounters.h - the simulator's counters by source line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Findings.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::tools {

// Executed instructions and what they asked of memory.
struct LineCounters {
  uint64_t issues = 0, lanes = 0, requests = 0, ways = 0, conflicts = 0,
           copyWays = 0, copyConflicts = 0, sectors = 0, tensor = 0;

  void add(const sim::InstructionCount &i);
};

// One statement: its file and line, and the lines that it was inlined into.
struct LineRow {
  std::string file; // last part of the path; empty: of no line
  uint32_t line = 0;
  std::string inlined; // "kernel.py:40", of several calls the inmost first
  LineCounters sum;
};

// "kernel.py:12:4, inlined at kernel.py:40:8" to the row that it counts for.
// Line 0 is code that the compiler made of several lines: where it was inlined
// it belongs to the caller's line, else to none.
LineRow rowOf(const std::string &source);

// The names of --sort: "line", then the columns of the table.
const std::vector<std::string> &lineColumns();

// Returns the rows sorted by "line" (files by name, lines by number,
// instructions without a line last) or by a column, the largest first.
std::vector<LineRow>
lineRows(const std::vector<sim::InstructionCount> &instructions,
         const std::string &sortedBy);

// Returns the table. `texts` contains the lines of the available files.
std::string
lineCounterTable(const std::vector<LineRow> &rows,
                 const std::map<std::string, std::vector<std::string>> &texts);

} // namespace tessera::tools
