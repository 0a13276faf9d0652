// autotune/choice/Tables.h - the tuning tables that this process's launches
// use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/Kernel.h"
#include "runtime/launch/ConfigurationChooser.h"
#include "runtime/launch/LaunchDevice.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tessera::tune {

// The table of one device without its stale entries. Lives as long as the
// process.
struct UsedTable {
  std::string path;
  TuneTable table;
  // FoundTable::origin, or "given" for useTable().
  std::string origin;
  std::string sha256;  // of printTable(), with the stale entries
  size_t stale = 0;    // entries that were left out
  uint32_t number = 0; // unique in the process, from 1
};

// Returns the table of a device: that of TESSERA_TUNED, else of configs/tuned
// of this build, else null. The first call reads it and reports once which
// entries are unused. If the table of TESSERA_TUNED cannot be read, every call
// throws Error. If the build's table cannot be read, warns and returns null.
const UsedTable *tableOf(const runtime::LaunchDevice &device);
// Makes later launches on the device use this table, or no table.
void useTable(const std::string &device, std::optional<TuneTable> table,
              const std::string &path = "given");

// Returns the chooser that looks up the launch's exact key in tableOf(). A
// launch that sets its warps or stages gets no entry, because entries are
// measured for launches that leave both open.
const runtime::ConfigurationChooser &tableChooser();

} // namespace tessera::tune
