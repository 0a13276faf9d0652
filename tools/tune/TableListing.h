// tools/tune/TableListing.h - prints a tuning table as readable text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <string>

namespace tessera::tools {

// Returns the device, the table's origin, and a line for each entry under its
// kernel, types and geometry. Stale entries are marked. Ends with a newline.
std::string tableListing(const tune::TuneTable &table);

// Returns the device, the table's origin and the number of entries, in a few
// lines.
std::string tableHeading(const tune::TuneTable &table, size_t stale);

// Returns "812.4 us" or "1.3 ms".
std::string timeText(double microseconds);

} // namespace tessera::tools
