// tools/tune/Landscape.cpp - collects every timed configuration and the chosen
// one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/Landscape.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tools {

using tune::TuneEntry;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

Landscape::Cell &cellOf(Landscape &landscape, const std::string &choice,
                        size_t column) {
  const auto found = std::find_if(
      landscape.rows.begin(), landscape.rows.end(),
      [&](const Landscape::Row &row) { return row.choice == choice; });
  Landscape::Row &row =
      found == landscape.rows.end()
          ? landscape.rows.emplace_back(Landscape::Row{choice, {}})
          : *found;
  row.cells.resize(landscape.buckets.size());
  auto &cell = row.cells[column];
  return cell ? *cell : cell.emplace();
}

void addTimes(Landscape &landscape, const TuneEntry &entry, size_t column,
              const tune::Times &times) {
  for (const auto &[key, time] : times.all()) {
    if (time.entry != landscape.kernel || time.bucket != entry.key.bucket ||
        time.text != entry.key.textHash)
      continue;
    Landscape::Cell &cell = cellOf(landscape, time.choice, column);
    cell.us = time.seconds.median * 1e6;
    cell.spread = time.seconds.spread;
    cell.problem = time.problem;
    cell.own = time.own;
  }
}

// Uses the table's times instead, because the table was measured later: there
// both configurations were timed alternately.
void addEntry(Landscape &landscape, const TuneEntry &entry, size_t column) {
  if (entry.runnerUp) {
    Landscape::Cell &cell =
        cellOf(landscape, describe(*entry.runnerUp), column);
    cell.us = entry.runnerUpUs;
    cell.problem.clear();
  }
  Landscape::Cell &cell = cellOf(landscape, describe(entry.use), column);
  cell.us = entry.timeUs;
  cell.spread = entry.spread;
  cell.chosen = true;
  cell.problem.clear();
}

// Returns the logarithm of the geometric mean of a row's times, each relative
// to the fastest of its column. A row without correct results comes last.
double rank(const Landscape &landscape, const Landscape::Row &row) {
  double logs = 0;
  int count = 0;
  for (size_t i = 0; i < row.cells.size(); ++i)
    if (row.cells[i] && row.cells[i]->problem.empty()) {
      logs += std::log(row.cells[i]->us / landscape.fastest(i));
      ++count;
    }
  return count ? logs / count : never;
}

} // namespace

double Landscape::fastest(size_t column) const {
  double least = never;
  for (const Row &row : rows)
    if (column < row.cells.size() && row.cells[column] &&
        row.cells[column]->problem.empty())
      least = std::min(least, row.cells[column]->us);
  return least;
}

std::vector<Landscape> landscapesOf(const tune::TuneTable &table,
                                    const tune::Times &times) {
  std::vector<Landscape> all;
  const std::vector<TuneEntry> &entries = table.entries();
  for (size_t i = 0; i < entries.size();) {
    Landscape landscape;
    landscape.kernel = tune::withoutLength(entries[i].key);
    size_t end = i;
    while (end < entries.size() &&
           tune::withoutLength(entries[end].key) == landscape.kernel) {
      landscape.buckets.push_back(entries[end].key.bucket);
      landscape.reasons.push_back(entries[end++].why);
    }
    for (size_t k = i; k < end; ++k) {
      addTimes(landscape, entries[k], k - i, times);
      addEntry(landscape, entries[k], k - i);
    }
    for (Landscape::Row &row : landscape.rows)
      row.cells.resize(landscape.buckets.size());
    std::vector<std::pair<double, size_t>> order;
    for (size_t k = 0; k < landscape.rows.size(); ++k)
      order.emplace_back(rank(landscape, landscape.rows[k]), k);
    std::sort(order.begin(), order.end());
    std::vector<Landscape::Row> rows;
    for (const auto &[ignored, k] : order)
      rows.push_back(std::move(landscape.rows[k]));
    landscape.rows = std::move(rows);
    all.push_back(std::move(landscape));
    i = end;
  }
  return all;
}

} // namespace tessera::tools
