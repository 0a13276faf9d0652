// autotune/search/TableEntry.h - timed configurations to an entry of a table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::tune {

std::string utcNow(); // "2026-01-31T12:00:00Z"
std::string today();  // as entries have it: "2026-01-31", UTC

// A configuration with its time.
struct TimedChoice {
  TuneChoice use;
  double seconds = 0, spread = 0;
};

// The entry of a key: `choices[chosen]` is used, the fastest of the others is
// the runner-up, choices[0] the kernel's own.
TuneEntry entryOf(const TuneKey &key, const std::vector<TimedChoice> &choices,
                  size_t chosen, const std::string &why);

// The number of the fastest; of equal ones the first.
size_t fastestOf(const std::vector<TimedChoice> &choices); // at least one

} // namespace tessera::tune
