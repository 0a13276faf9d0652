// tools/tune/Difference.h - compares two tables of tuned configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <string>

namespace tessera::tools {

struct TableDifference {
  std::string text; // a line for each entry that differs
  bool any = false;
};
// Compares the chosen configuration and the time of entries with the same
// kernel, types, geometry and length. Ignores the kernels' texts.
TableDifference compareTables(const tune::TuneTable &a,
                              const tune::TuneTable &b);

} // namespace tessera::tools
