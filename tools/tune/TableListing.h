// tools/tune/TableListing.h - a tuning table as readable text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <string>

namespace tessera::tools {

// The device, where the table came from, and a line for each entry under its
// kernel, types and geometry; stale ones are marked. Ends with a newline.
std::string tableListing(const tune::TuneTable &table);

// The device, where the table came from, and how many entries it has: a few
// lines.
std::string tableHeading(const tune::TuneTable &table, size_t stale);

// "812.4 us", "1.3 ms".
std::string timeText(double microseconds);

} // namespace tessera::tools
