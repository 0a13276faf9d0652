// tools/tune/TableListing.cpp - prints a tuning table as readable text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/TableListing.h"

#include "autotune/choice/StaleEntries.h"
#include "autotune/search/Times.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

namespace tessera::tools {

using tune::TuneEntry;
using tune::TuneKey;
using tune::TuneTable;

namespace {

template <typename... T>
std::string printed(const char *format, T... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Formats rows with aligned columns, separated by two blanks.
class Columns {
public:
  void add(std::vector<std::string> row) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), row.size()));
      widths[i] = std::max(widths[i], row[i].size());
    }
    rows.push_back(std::move(row));
  }
  std::string str() const {
    std::string text;
    for (const std::vector<std::string> &row : rows) {
      std::string line = " ";
      for (size_t i = 0; i < row.size(); ++i)
        line += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

private:
  std::vector<size_t> widths;
  std::vector<std::vector<std::string>> rows;
};

std::string orOwn(const std::string &choice) {
  return choice.empty() ? "the kernel's own" : choice;
}

std::string gainOf(const TuneEntry &entry) {
  return entry.defaultUs > 0 ? printed("%.2fx", entry.defaultUs / entry.timeUs)
                             : "-";
}

std::string runnerUpOf(const TuneEntry &entry) {
  if (!entry.runnerUp)
    return "-";
  return orOwn(describe(*entry.runnerUp)) + " " +
         printed("%+.1f%%", 100 * (entry.runnerUpUs / entry.timeUs - 1));
}

std::vector<std::string> rowOf(const TuneEntry &entry,
                               const std::string &stale) {
  return {entry.key.bucket ? std::to_string(entry.key.bucket) : "any",
          orOwn(describe(entry.use)),
          timeText(entry.timeUs),
          entry.predicted ? "predicted"
                          : printed("+-%.1f%%", 100 * entry.spread),
          gainOf(entry),
          runnerUpOf(entry),
          entry.date,
          stale.empty() ? entry.why : "STALE: " + stale};
}

} // namespace

std::string timeText(double microseconds) {
  if (microseconds >= 1e6)
    return printed("%.4g s", microseconds / 1e6);
  if (microseconds >= 1e4)
    return printed("%.4g ms", microseconds / 1e3);
  return printed("%.4g us", microseconds);
}

std::string tableHeading(const TuneTable &table, size_t stale) {
  const auto predicted =
      std::count_if(table.entries().begin(), table.entries().end(),
                    [](const TuneEntry &entry) { return entry.predicted; });
  std::string text = describe(table.device) + "\n";
  for (const auto &[key, field] : tune::provenanceFields)
    if (const std::string &value = table.provenance.*field; !value.empty())
      text += (field == &tune::TuneProvenance::command ? "made by" : key) +
              (" " + value) + "\n";
  return text + std::to_string(table.entries().size()) + " entries, " +
         std::to_string(predicted) + " predicted, " + std::to_string(stale) +
         " stale\n";
}

std::string tableListing(const TuneTable &table) {
  std::map<TuneKey, std::string> stale;
  for (const tune::StaleEntry &entry : tune::staleEntries(table))
    stale[entry.key] = entry.reason;
  std::string text = tableHeading(table, stale.size());
  const auto &entries = table.entries();
  for (size_t i = 0; i < entries.size();) {
    const std::string head = tune::withoutLength(entries[i].key);
    text += "\n" + head + "\n";
    Columns columns;
    columns.add({"sequence", "chosen", "time", "spread", "gain", "runner-up",
                 "date", "why"});
    for (; i < entries.size() && tune::withoutLength(entries[i].key) == head;
         ++i) {
      const auto found = stale.find(entries[i].key);
      columns.add(rowOf(entries[i], found == stale.end() ? "" : found->second));
    }
    text += columns.str();
  }
  return text;
}

} // namespace tessera::tools
