// autotune/choice/Tables.h - the tables that launches of this process go by.
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

// Of one device, without its stale entries; lives as long as the process.
struct UsedTable {
  std::string path;
  TuneTable table;
  size_t stale = 0;    // entries that were left out
  uint32_t number = 0; // of all tables of the process, from 1
};

// The table of a device: of TESSERA_TUNED, else of configs/tuned of this build;
// null where there is none for it. The first call reads it and reports once
// what of it is not used. Throws Error for one that TESSERA_TUNED names and
// that cannot be read, each time; one of the build that cannot be read is
// warned of and left out.
const UsedTable *tableOf(const runtime::LaunchDevice &device);
// Makes later launches on the device go by this one, or by none.
void useTable(const std::string &device, std::optional<TuneTable> table,
              const std::string &path = "given");

// Chooses from tableOf() the entry of exactly the launch's key. A launch that
// names its warps or stages itself gets none: an entry is for launches that
// leave all of it open.
const runtime::ConfigurationChooser &tableChooser();

} // namespace tessera::tune
