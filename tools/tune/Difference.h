// tools/tune/Difference.h - two tables of tuned configurations side by side.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <string>

namespace tessera::tools {

struct TableDifference {
  std::string text; // a line for each entry that is not in both alike
  bool any = false;
};
// Entries are compared by kernel, types, geometry and length, whatever the
// kernels' text: what is chosen, and the time.
TableDifference compareTables(const tune::TuneTable &a,
                              const tune::TuneTable &b);

} // namespace tessera::tools
