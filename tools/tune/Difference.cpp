// tools/tune/Difference.cpp - compares two tables of tuned configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/Difference.h"

#include "tools/tune/TableListing.h"

#include <cstdio>
#include <map>

namespace tessera::tools {

using tune::TuneEntry;
using tune::TuneKey;
using tune::TuneTable;

namespace {

// Returns the entries without the hashes of kernel texts, so that a changed
// kernel is compared with its earlier version.
std::map<TuneKey, const TuneEntry *> withoutText(const TuneTable &table) {
  std::map<TuneKey, const TuneEntry *> entries;
  for (const TuneEntry &entry : table.entries()) {
    TuneKey key = entry.key;
    key.textHash.clear();
    const TuneEntry *&place = entries[key];
    if (!place || place->date <= entry.date)
      place = &entry;
  }
  return entries;
}

std::string sideOf(const TuneEntry &entry) {
  const std::string choice = describe(entry.use);
  return (choice.empty() ? "the kernel's own" : choice) + " " +
         timeText(entry.timeUs) + (entry.predicted ? " predicted" : "");
}

// Returns the difference, or an empty string if it is insignificant.
std::string changeOf(const TuneEntry &a, const TuneEntry &b) {
  std::string text;
  if (a.key.textHash != b.key.textHash)
    text += "  the kernel's text differs\n";
  if (!(a.use == b.use) || a.timeUs != b.timeUs || a.predicted != b.predicted) {
    char change[32];
    std::snprintf(change, sizeof change, "%+.1f%%",
                  100 * (b.timeUs / a.timeUs - 1));
    text += "  " + sideOf(a) + " -> " + sideOf(b) + ", " + change + "\n";
  }
  return text;
}

} // namespace

TableDifference compareTables(const TuneTable &a, const TuneTable &b) {
  TableDifference result;
  if (!(a.device == b.device))
    result.text +=
        "device\n  " + describe(a.device) + " -> " + describe(b.device) + "\n";
  const auto left = withoutText(a), right = withoutText(b);
  for (const auto &[key, entry] : left) {
    const auto other = right.find(key);
    const std::string change =
        other == right.end() ? "  only in the first: " + sideOf(*entry) + "\n"
                             : changeOf(*entry, *other->second);
    if (!change.empty())
      result.text += describe(key) + "\n" + change;
  }
  for (const auto &[key, entry] : right)
    if (!left.count(key))
      result.text +=
          describe(key) + "\n  only in the second: " + sideOf(*entry) + "\n";
  result.any = !result.text.empty();
  return result;
}

} // namespace tessera::tools
