// tools/sim/LineCounters.h - sums the simulator's counters by source line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Findings.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::tools {

// Executed instructions and their memory accesses.
struct LineCounters {
  uint64_t issues = 0, lanes = 0, requests = 0, ways = 0, conflicts = 0,
           copyWays = 0, copyConflicts = 0, sectors = 0, tensor = 0;

  void add(const sim::InstructionCount &i);
};

// A statement: its file and line, and the lines into which it was inlined.
struct LineRow {
  std::string file; // last part of the path; empty: no line
  uint32_t line = 0;
  std::string inlined; // "kernel.py:40", of several calls the inmost first
  LineCounters sum;
};

// Returns the row for "kernel.py:12:4, inlined at kernel.py:40:8". Line 0 marks
// code that the compiler generated from several lines. If it was inlined, it
// counts for the caller's line, otherwise for no line.
LineRow rowOf(const std::string &source);

// Returns the names for --sort: "line", then the columns of the table.
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
