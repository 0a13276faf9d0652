// tools/sim/LineCounters.cpp - sums the simulator's counters by source line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/LineCounters.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <string_view>
#include <tuple>

namespace tessera::tools {
namespace {

struct Counted {
  const char *name;
  const char *title;
  unsigned width;
  uint64_t LineCounters::*value;
};

constexpr Counted countedColumns[] = {
    {"instructions", "warp instr.", 12, &LineCounters::issues},
    {"requests", "requests", 9, &LineCounters::requests},
    {"passes", "passes", 9, &LineCounters::ways},
    {"conflicts", "conflicts", 9, &LineCounters::conflicts},
    {"copy-passes", "copy passes", 12, &LineCounters::copyWays},
    {"copy-conflicts", "copy confl.", 12, &LineCounters::copyConflicts},
    {"sectors", "sectors", 9, &LineCounters::sectors},
    {"tensor", "tensor", 8, &LineCounters::tensor}};

// "kernel.py:12:4" without its column.
struct Place {
  std::string file;
  uint32_t line = 0;
};

Place placeOf(std::string_view text) {
  Place place;
  const size_t column = text.rfind(':');
  const size_t line = column == std::string_view::npos || column == 0
                          ? std::string_view::npos
                          : text.rfind(':', column - 1);
  if (line == std::string_view::npos)
    return place;
  std::from_chars(text.data() + line + 1, text.data() + column, place.line);
  place.file = text.substr(0, line);
  return place;
}

std::string labelOf(const LineRow &row) {
  if (row.file.empty())
    return "(no line)";
  std::string label = fmt::format("{}:{}", row.file, row.line);
  return row.inlined.empty() ? label : label + " in " + row.inlined;
}

// Returns a line of source without its indentation, shortened to the width of a
// terminal.
std::string
shortText(const LineRow &row,
          const std::map<std::string, std::vector<std::string>> &texts) {
  constexpr size_t longest = 60;
  const auto found = texts.find(row.file);
  if (found == texts.end() || row.line == 0 || row.line > found->second.size())
    return "";
  std::string text = found->second[row.line - 1];
  text.erase(0, text.find_first_not_of(" \t"));
  if (text.size() > longest)
    text = text.substr(0, longest - 3) + "...";
  return text;
}

} // namespace

void LineCounters::add(const sim::InstructionCount &i) {
  issues += i.issues;
  lanes += i.lanes;
  requests += i.requests;
  ways += i.ways;
  conflicts += i.ways - i.leastWays;
  copyWays += i.copyWays;
  copyConflicts += i.copyWays - i.leastCopyWays;
  sectors += i.sectors;
  tensor += i.kind == sim::Class::Tensor ? i.issues : 0;
}

LineRow rowOf(const std::string &source) {
  constexpr std::string_view between = ", inlined at ";
  LineRow row;
  for (std::string_view rest = source; !rest.empty();) {
    const size_t end = rest.find(between);
    const Place place = placeOf(rest.substr(0, end));
    rest =
        end == std::string_view::npos ? "" : rest.substr(end + between.size());
    if (place.line == 0)
      continue;
    if (row.file.empty()) {
      row.file = place.file;
      row.line = place.line;
    } else {
      row.inlined += fmt::format("{}{}:{}", row.inlined.empty() ? "" : " in ",
                                 place.file, place.line);
    }
  }
  return row;
}

const std::vector<std::string> &lineColumns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"line"};
    for (const Counted &column : countedColumns)
      all.push_back(column.name);
    return all;
  }();
  return names;
}

std::vector<LineRow>
lineRows(const std::vector<sim::InstructionCount> &instructions,
         const std::string &sortedBy) {
  using Key = std::tuple<bool, std::string, uint32_t, std::string>;
  std::map<Key, LineRow> byPlace;
  for (const sim::InstructionCount &i : instructions) {
    if (!i.issues)
      continue;
    LineRow row = rowOf(i.source);
    const Key key{row.file.empty(), row.file, row.line, row.inlined};
    byPlace.try_emplace(key, std::move(row)).first->second.sum.add(i);
  }
  std::vector<LineRow> rows;
  for (auto &[key, row] : byPlace)
    rows.push_back(std::move(row));
  for (const Counted &column : countedColumns)
    if (sortedBy == column.name)
      std::stable_sort(rows.begin(), rows.end(),
                       [&](const LineRow &a, const LineRow &b) {
                         return a.sum.*column.value > b.sum.*column.value;
                       });
  return rows;
}

std::string
lineCounterTable(const std::vector<LineRow> &rows,
                 const std::map<std::string, std::vector<std::string>> &texts) {
  size_t width = std::string_view("source line").size();
  for (const LineRow &row : rows)
    width = std::max(width, labelOf(row).size());
  std::string text = fmt::format("{:<{}}", "source line", width);
  for (const Counted &column : countedColumns)
    text += fmt::format(" {:>{}}", column.title, column.width);
  text += '\n';
  for (const LineRow &row : rows) {
    text += fmt::format("{:<{}}", labelOf(row), width);
    for (const Counted &column : countedColumns)
      text += fmt::format(" {:>{}}", row.sum.*column.value, column.width);
    const std::string source = shortText(row, texts);
    text += (source.empty() ? "" : "  " + source) + "\n";
  }
  return text;
}

} // namespace tessera::tools
