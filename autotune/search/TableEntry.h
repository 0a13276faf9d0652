// autotune/search/TableEntry.h - creates a table entry from timed
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::tune {

std::string utcNow(); // "2026-01-31T12:00:00Z"
std::string today();  // the format of entries: "2026-01-31", UTC

// A configuration with its time.
struct TimedChoice {
  TuneChoice use;
  double seconds = 0, spread = 0;
};

// Returns the entry of a key. `choices[chosen]` is used, the fastest of the
// others is the runner-up, and choices[0] is the kernel's default.
TuneEntry entryOf(const TuneKey &key, const std::vector<TimedChoice> &choices,
                  size_t chosen, const std::string &why);

// Returns the index of the fastest; on ties the first.
size_t fastestOf(const std::vector<TimedChoice> &choices); // at least one

} // namespace tessera::tune
